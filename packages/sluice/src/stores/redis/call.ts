import { createHash } from "node:crypto"
import { termsOf } from "../../algorithms/index.js"
import { twinOf } from "../../algorithms/twin.js"
import { ByCost } from "../../by-cost.js"
import type { Policy } from "../../policy.js"
import type { Place } from "../../state-key.js"
import type { Mode, Part } from "../../store.js"
import { amountsOf, laneOf } from "./lane.js"
import { labelOf, type RedisKeys, recordBefore } from "./redis-keys.js"
import { scripts } from "./scripts.generated.js"

/** One call of a script. */
export interface Call {
  readonly script: { readonly sha: string; readonly source: string }
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** What `ask.lua` is asked: as a store is, or to do what a store does. */
export interface ScriptAsk {
  readonly parts: readonly Part[]
  readonly mode: Mode | "give" | "leave" | "settle" | "forget"
  /** How many asks, or what the mode has in its place. */
  readonly count: number | readonly number[]
  /** The key of what an ask notes beside its parts, and any place of the limiter and key that it is noted for. */
  readonly note?: { readonly key: string; readonly place: Place } | undefined
}

/** An ask on its way, among others. */
export interface SentAsk extends ScriptAsk {
  /** Whether one before it may have one of its keys. */
  readonly follows: boolean
}

/** Any place that an ask touches: all of them share a slot. */
export function placeOf({ parts, note }: ScriptAsk): Place {
  return (parts[0] ?? note?.place) as Place
}

/** What needs the script that has everything, and takes it several times as long as a spend. */
export const further: ReadonlySet<ScriptAsk["mode"]> = new Set([
  "book",
  "leave",
  "charge",
  "reserve",
  "settle",
])

/** The call of `ask.lua` that carries these asks; asks alike in all but their keys share a plan. */
export function encodeAsks(
  names: Pick<RedisKeys, "of" | "note">,
  now: string,
  asks: readonly SentAsk[],
): Call {
  const keys: string[] = []
  const first = asks[0] as SentAsk
  let alike = true
  let asDear = true
  let asOften = true
  let follows = false
  for (const ask of asks) {
    const { parts, note, mode } = ask
    for (let i = 0; i < parts.length; i += 1) {
      if (recordBefore(parts, i) < 0) keys.push(names.of(parts[i] as Part))
    }
    if (mode !== "spend" && mode !== "peek" && mode !== "charge") {
      // it looks back: see state.lua
      for (const part of parts) keys.push(names.note(part, ":fg"))
    }
    if (note !== undefined) keys.push(note.key)
    follows ||= ask.follows
    if (ask === first) continue
    alike &&= mode === first.mode && samePolicies(parts, first.parts)
    asDear &&= alike && sameCosts(parts, first.parts)
    asOften &&= ask.count === first.count
  }
  // asks that come together are most often alike, or differ in how many they are and what they cost
  const same = alike && asDear && asOften && !follows
  const common = same ? callOf(first) : alike ? callByAmounts(asks, follows, asDear) : undefined
  if (common !== undefined) {
    const { script, args } = common
    return { script, keys, args: now === "" ? args : [now, ...args.slice(1)] }
  }
  const plans = new Map<string, { readonly number: number; readonly ask: SentAsk }>()
  let last = first
  let plan: { readonly number: number; readonly ask: SentAsk } | undefined
  const numbers = asks.map((ask) => {
    if (plan !== undefined && samePlan(ask, last)) return plan.number
    const text = planText(ask)
    plan = plans.get(text) ?? { number: plans.size + 1, ask }
    plans.set(text, plan)
    last = ask
    return plan.number
  })
  const script = scriptFor([...plans.values()].map(({ ask }) => ask))
  const args = [now, `[${[...plans.keys()].join()}]`, `[${numbers.join()}]`, ...(follows ? ["1"] : [])]
  return { script, keys, args }
}

/** What the last call had besides its keys that was of spends under a policy, first of all: what comes next is most often alike. */
const lastCalls = new WeakMap<Policy, { readonly ask: ScriptAsk; readonly call: Omit<Call, "keys"> }>()

/** What a call has besides its keys, of asks alike in all else, by the server's clock. */
function callOf(ask: ScriptAsk): Omit<Call, "keys"> {
  const { parts, mode, count } = ask
  const first = mode === "spend" ? (parts[0] as Part) : undefined
  const last = first && lastCalls.get(first.policy)
  if (last !== undefined && last.ask.count === count && samePrice(parts, last.ask.parts)) return last.call
  const lane = laneOf(ask)
  const script = lane?.several ? scripts.ask : scriptFor([ask])
  const call = { script, args: ["", `[${planText(ask)}]`, "", ...(lane?.terms ?? [])] }
  if (first !== undefined && parts.every(({ key }) => key === first.key)) {
    // without the key, which would be kept for long; that it is the same for all parts is all that matters of it here
    const keyless = parts.map((part) => ({ ...part, key: "" }))
    lastCalls.set(first.policy, { ask: { parts: keyless, mode, count }, call })
  }
  return call
}

/**
 * The same of plain asks that differ in their counts too, or in their costs, or whose keys may come twice; undefined if they are
 * not plain, or one of them is for more than can be written.
 */
function callByAmounts(
  asks: readonly SentAsk[],
  follows: boolean,
  asDear: boolean,
): Omit<Call, "keys"> | undefined {
  const { parts, mode } = asks[0] as SentAsk
  if (mode !== "spend") return undefined
  const priced = asDear ? parts : parts.map((part) => ({ ...part, cost: 1 }))
  const { script, args } = callOf({ parts: priced, mode, count: 1 })
  const [now, plan, , ...terms] = args as [string, string, string, ...string[]]
  const amounts = terms.length > 0 ? amountsOf(asks, follows, asDear) : undefined
  return amounts === undefined ? undefined : { script, args: [now, plan, amounts, ...terms] }
}

/** The script of the one algorithm that all of these need, or the longer one that has everything. */
function scriptFor(asks: readonly ScriptAsk[]): Call["script"] {
  let only: string | undefined
  for (const { parts, mode } of asks) {
    if (further.has(mode)) return scripts.ask
    for (let i = 0; i < parts.length; i += 1) {
      const { name } = twinOf((parts[i] as Part).policy)
      if (only !== undefined && only !== name) return scripts.ask
      only = name
    }
  }
  return scripts[only as Exclude<keyof typeof scripts, "ask">]
}

/** What an ask has in common with others but for the keys. */
function planText({ mode, count, parts }: ScriptAsk): string {
  return `["${mode}",${JSON.stringify(count)}${parts.map((_, i) => partText(parts, i)).join("")}]`
}

/** Whether two asks have the same plan, as far as a look can tell. */
function samePlan(a: ScriptAsk, b: ScriptAsk): boolean {
  return a.count === b.count && a.mode === b.mode && samePrice(a.parts, b.parts)
}

/** Whether parts have the same policies and costs, in order. */
export function samePrice(a: readonly Part[], b: readonly Part[]): boolean {
  return samePolicies(a, b) && sameCosts(a, b)
}

function samePolicies(a: readonly Part[], b: readonly Part[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i += 1) {
    const one = a[i] as Part
    const other = b[i] as Part
    if (one.policy !== other.policy) return false
    // by name too, by which states are found in a record, and by what is in one
    if (one.scope.policy !== other.scope.policy) return false
    if (i > 0 && recordBefore(a, i) !== recordBefore(b, i)) return false
  }
  return true
}

/** Of parts that are as many. */
function sameCosts(a: readonly Part[], b: readonly Part[]): boolean {
  for (let i = 0; i < a.length; i += 1) {
    if ((a[i] as Part).cost !== (b[i] as Part).cost) return false
  }
  return true
}

/** A short name for policies and keys, the same for the same of them. */
export function digestOf(parts: readonly Part[]): string {
  const text = JSON.stringify(parts.map(({ scope, key, policy }) => [scope.id, key, policy]))
  return createHash("sha1").update(text).digest("base64url").slice(0, 16)
}

const termsTexts = new ByCost<string>()

function partText(parts: readonly Part[], index: number): string {
  const part = parts[index] as Part
  const label = labelOf(part)
  const before = recordBefore(parts, index)
  const shared = before < 0 ? "" : `"with":${before + 1},`
  const named = label === undefined ? "" : `${shared}"label":${JSON.stringify(label)},`
  return `,"${twinOf(part.policy).name}",{${named}${termsText(part)}`
}

function termsText({ policy, cost }: Part): string {
  let text = termsTexts.get(policy, cost)
  if (text === undefined) {
    text = JSON.stringify(twinOf(policy).sent(termsOf(policy, cost))).slice(1)
    termsTexts.set(policy, cost, text)
  }
  return text
}
