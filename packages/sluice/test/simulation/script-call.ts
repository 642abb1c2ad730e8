import {
  type Answer,
  countingOf,
  type MemoryStore,
  type Mode,
  type Part,
  type Place,
  type Policy,
  scopeOf,
  termsOf,
} from "sluice"
import { twinOf } from "../../src/algorithms/twin.js"
import { limitOf } from "../support/policy-kinds.js"

/** What a call asks for, as the script reads it. */
export interface WireAsk {
  readonly mode: Mode | "give" | "leave" | "settle" | "forget"
  /** How many asks, or what the mode has in its place. */
  readonly count: number | readonly number[]
  readonly parts: readonly Part[]
  /** Where a reservation is noted. */
  readonly note: Place | undefined
  /** The same for asks that are alike, whatever their count. */
  readonly signature: string
}

/** A call of the script: the time if the caller told it, and what is asked. */
export interface WireCall {
  readonly now: number | undefined
  readonly asks: readonly WireAsk[]
}

type Plan = readonly [mode: WireAsk["mode"], count: WireAsk["count"], ...rest: unknown[]]

/** What is read of terms; the rest differs. */
interface SentTerms {
  /** The name of the policy and the suffix of its algorithm, if it is in a record, and a part before it that is too. */
  readonly label?: string
  readonly with?: number
  readonly cost: number
  readonly parts?: number
  readonly costPart?: number
}

/** The modes that have a key for what they note. */
const noted: ReadonlySet<string> = new Set(["book", "leave", "reserve", "settle"])

/** The modes that do not look back; others have a key for each part, where it is noted when that was forgotten. */
const onlyNow: ReadonlySet<string> = new Set(["spend", "peek", "charge"])

/** A place by its key on the server, and what ends the key. */
type KeyedPlace = Place & { readonly suffix: string }

const places = new Map<string, KeyedPlace>()

function placeAt(key: string, label?: string): KeyedPlace {
  // a record ends in an empty name and a suffix of its own
  if (label !== undefined) return placeAt(key.replace(/::ps$/, `:${label}`))
  const known = places.get(key)
  if (known !== undefined) return known
  const [, , , limiter, name, policy, ...rest] = key.split(":") as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const place = { scope: scopeOf(limiter, policy), key: name, suffix: rest.at(-1) ?? "" }
  // every reservation has a key of its own
  if (place.suffix !== "rs") places.set(key, place)
  return place
}

/**
 * Reads calls of `ask.lua`, given the policies that may be in them: which policy and what cost terms are of is found by
 * deriving them again.
 */
export function scriptCalls(policies: readonly Policy[]) {
  const plansByText = new Map<string, readonly Plan[]>()
  const known = new Map<string, { policy: Policy; cost: number }>()

  const identify = (suffix: string, terms: SentTerms) => {
    const text = JSON.stringify(terms)
    const name = `${suffix} ${text}`
    let found = known.get(name)
    if (found !== undefined) return found
    for (const policy of policies) {
      if (countingOf(policy).suffix !== suffix) continue
      const cost = costOf(policy, terms)
      if (cost < 1 || JSON.stringify(twinOf(policy).sent(termsOf(policy, cost))) !== text) continue
      found = { policy, cost }
      known.set(name, found)
      return found
    }
    throw new Error(`no policy of the simulation has these terms: ${name}`)
  }

  return (keys: readonly string[], args: readonly string[]): WireCall => {
    const [now, plansText, numbersText, ...terms] = args as [string, string, string, ...string[]]
    const plans = plansByText.get(plansText) ?? (JSON.parse(plansText) as Plan[])
    plansByText.set(plansText, plans)
    // in calls that have terms beside the plan, what asks differ in is in that place
    const inLane = terms.length > 1
    const numbers = !inLane && numbersText !== "" ? (JSON.parse(numbersText) as number[]) : undefined
    const amounts = inLane && numbersText !== "" ? amountsIn(numbersText, plans[0] as Plan, keys) : undefined
    const asks: WireAsk[] = []
    for (let used = 0; used < keys.length; ) {
      const [mode, planned, ...rest] = plans[(numbers?.[asks.length] ?? 1) - 1] as Plan
      const { count = planned, costs } = amounts?.[asks.length] ?? {}
      const parts: Part[] = []
      const own: string[] = []
      for (let i = 0; i < rest.length; i += 2) {
        const { label, with: other, ...terms } = rest[i + 1] as SentTerms
        if (other === undefined) own.push(keys[used++] as string)
        else own.push(own[other - 1] as string)
        const { scope, key, suffix } = placeAt(own.at(-1) as string, label)
        // what is forgotten is forgotten whatever its policy
        const part = mode === "forget" ? { policy: policies[0] as Policy, cost: 1 } : identify(suffix, terms)
        parts.push({ scope, key, ...part, ...(costs && { cost: costs[i / 2] as number }) })
      }
      if (!onlyNow.has(mode)) used += parts.length
      const note = noted.has(mode) ? placeAt(keys[used++] as string) : undefined
      asks.push({
        mode,
        count,
        parts,
        note,
        signature: signatureOf(mode, parts, detailOf(mode, count, note)),
      })
    }
    return { now: now === "" ? undefined : Number(now), asks }
  }
}

/** What the asks of a call differ in, by ask: see amounts.lua. */
function amountsIn(text: string, [, , ...rest]: Plan, keys: readonly string[]) {
  const bytes = [...text].map((byte) => byte.charCodeAt(0))
  const digits = (bytes[0] as number) % 16
  const parts = rest.length / 2
  const keysOfAsk = rest.filter((terms, i) => i % 2 === 1 && (terms as SentTerms).with === undefined).length
  const asks = keys.length / keysOfAsk
  return Array.from({ length: asks }, (_, ask) => {
    const costs = Array.from({ length: digits > 0 ? parts : 0 }, (_, part) => {
      const begin = 1 + asks + (ask * parts + part) * digits
      return bytes.slice(begin, begin + digits).reduce((cost, digit) => cost * 128 + digit, 0)
    })
    return { count: bytes[1 + ask] as number, costs: digits > 0 ? costs : undefined }
  })
}

function detailOf(mode: string, count: WireAsk["count"], note: Place | undefined): number | string {
  if (mode === "reserve" || mode === "settle") return note?.scope.id ?? ""
  if (mode === "spend" || mode === "peek" || mode === "forget") return ""
  return typeof count === "number" ? count : (count[0] as number)
}

/** What asks that are alike have in common; `detail` is what of the rest tells them apart. */
export function signatureOf(mode: string, parts: readonly Part[], detail: number | string): string {
  let text = `${mode} ${detail}`
  let last = ""
  for (const { scope, key, policy, cost } of parts) {
    const place = placeName({ scope, key })
    // a cost beyond all that a policy counts is sent as the most that it does
    if (mode !== "forget") text += ` ${place}*${Math.min(cost, 2 * limitOf(policy))}`
    else if (place !== last) text += ` ${place}`
    last = place
  }
  return text
}

const names = new Map<string, Map<string, string>>()

/** A place in short; always the same string, because it is looked up all the time. */
export function placeName({ scope, key }: Place): string {
  let ofScope = names.get(scope.id)
  if (ofScope === undefined) {
    ofScope = new Map()
    names.set(scope.id, ofScope)
  }
  let name = ofScope.get(key)
  if (name === undefined) {
    name = `${scope.id}:${key}`
    ofScope.set(key, name)
  }
  return name
}

function costOf(policy: Policy, { cost, parts = 1, costPart = 0 }: SentTerms): number {
  if ("limit" in policy) return cost
  const { unit } = termsOf(policy, 1) as { unit: number }
  return Math.round((cost * parts + costPart) / unit)
}

/** What came of an ask on a server. */
export interface Outcome {
  readonly granted: number
  /** As the script says it. */
  readonly reply: readonly number[]
  readonly answer?: Answer
}

/** Has a store answer an ask of a call, by the clock it has. */
export function runOn(store: MemoryStore, { mode, count, parts, note }: WireAsk): Outcome {
  const list = typeof count === "number" ? [] : count
  const number = typeof count === "number" ? count : 1
  switch (mode) {
    case "spend":
    case "peek":
      return told(store.ask({ parts, count: number, mode }), number, mode)
    case "book":
      return told(store.ask({ parts, count: 1, mode, maxWait: list[0] as number }), 1, mode)
    case "charge":
      return told(store.ask({ parts, count: 1, mode, maxWait: number }), 1, mode)
    case "reserve": {
      const place = note as Place
      return told(store.ask({ parts, count: 1, mode, note: { place, lasts: number } }), 1, mode)
    }
    case "leave":
      store.leave({ parts, at: list[0] as number, marks: list.slice(1 + parts.length) })
      return { granted: 0, reply: [0] }
    case "give":
      store.giveBack(parts, number === -1 ? undefined : number)
      return { granted: 0, reply: [0] }
    case "settle": {
      const back = parts.filter((_, i) => list[i + 1] === 0)
      const more = parts.filter((_, i) => list[i + 1] === 1)
      const settled = store.settle({ place: note as Place, back, more, maxWait: list[0] as number })
      return { granted: settled ? 1 : 0, reply: [settled ? 1 : 0] }
    }
    case "forget":
      store.forget(parts)
      return { granted: 0, reply: [0] }
  }
}

/** An answer as the script tells it. */
function told(answer: Answer, count: number, mode: Mode): Outcome {
  const { granted, levels, at, turn, marks = [] } = answer
  const reply = levels.flat()
  const short = granted < count
  if (short) reply[0] = -1 - (reply[0] as number)
  if (mode === "book") reply.push(turn === undefined ? -1 : turn - at, ...marks)
  else if (short && count > 1) reply.push(granted)
  return { granted, reply, answer }
}
