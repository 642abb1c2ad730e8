import type { MemoryStore, Policy } from "sluice"
import {
  countingOf,
  type Mode,
  type PolicyRequest,
  policyRef,
  type StateRef,
  type StoreReply,
} from "sluice/store"
import { encodedPolicy } from "../../src/stores/redis/protocol.js"
import { readCall } from "../support/lua-call.js"
import { limitOf } from "../support/policy-kinds.js"

/** What a call asks for, as the script reads it. */
export interface WireAsk {
  readonly mode: Mode | "give" | "leave" | "settle" | "forget"
  /** How many asks, or what the mode has in its place. */
  readonly count: number | readonly number[]
  readonly parts: readonly PolicyRequest[]
  /** Where a reservation is noted. */
  readonly note: StateRef | undefined
  /** The same for asks that are alike, whatever their count. */
  readonly signature: string
}

/** A call of the script: the time if the caller told it, and what is asked. */
export interface WireCall {
  readonly now: number | undefined
  readonly asks: readonly WireAsk[]
}

/** A state by its key on the server, and what ends the key. */
type KeyedState = StateRef & { readonly suffix: string }

const stateRefs = new Map<string, KeyedState>()

/** The state under a key: `sluice:{tag}limiter:key:policy:suffix`, where the policy `default` is left out. */
function stateAt(key: string): KeyedState {
  const known = stateRefs.get(key)
  if (known !== undefined) return known
  const [, begin, name, ...rest] = key.split(":") as [string, string, string, ...string[]]
  const limiter = begin.slice(begin.indexOf("}") + 1)
  const policy = rest.length > 1 ? (rest[0] as string) : "default"
  const state = { ref: policyRef(limiter, policy), key: name, suffix: rest.at(-1) as string }
  // Every reservation has a key of its own.
  if (state.suffix !== "rs") stateRefs.set(key, state)
  return state
}

/**
 * Reads calls of the library, given the policies that may be in them: the policy is found by encoding each of them again.
 */
export function scriptCalls(policies: readonly Policy[]) {
  const known = new Map<string, Policy>()

  const identify = (suffix: string, sent: Readonly<Record<string, number>>): Policy => {
    const text = JSON.stringify(sent)
    const name = `${suffix} ${text}`
    let found = known.get(name)
    if (found !== undefined) return found
    found = policies.find(
      (policy) =>
        countingOf(policy).suffix === suffix && JSON.stringify(encodedPolicy(policy, 1)[1]) === text,
    )
    if (found === undefined) throw new Error(`no policy of the simulation is sent as: ${name}`)
    known.set(name, found)
    return found
  }

  return (keys: readonly string[], args: readonly string[]): WireCall => {
    const call = readCall(keys, args)
    if (call === undefined) throw new Error(`not a call of the library: ${args}`)
    const asks = call.requests.map((request): WireAsk => {
      const mode = request.mode as WireAsk["mode"]
      const parts = request.policies.map(({ sent, units }, i): PolicyRequest => {
        const { ref, key, suffix } = stateAt(request.keys[i] as string)
        // What is reset is reset whatever its policy.
        const policy = mode === "forget" ? (policies[0] as Policy) : identify(suffix, sent)
        return { ref, key, policy, cost: units }
      })
      const note = request.note === undefined ? undefined : stateAt(request.note)
      const { count } = request
      return { mode, count, parts, note, signature: signatureOf(mode, parts, detailOf(mode, count, note)) }
    })
    return { now: call.now, asks }
  }
}

function detailOf(mode: string, count: WireAsk["count"], note: StateRef | undefined): number | string {
  if (mode === "reserve" || mode === "settle") return note?.ref.id ?? ""
  if (mode === "spend" || mode === "peek" || mode === "forget") return ""
  return typeof count === "number" ? count : (count[0] as number)
}

/** What asks that are alike have in common; `detail` is what of the rest tells them apart. */
export function signatureOf(
  mode: string,
  policies: readonly PolicyRequest[],
  detail: number | string,
): string {
  let text = `${mode} ${detail}`
  let last = ""
  for (const { ref, key, policy, cost } of policies) {
    const stateRef = placeName({ ref, key })
    // a cost beyond all that a policy counts is sent as the most that it does
    if (mode !== "forget") text += ` ${stateRef}*${Math.min(cost, 2 * limitOf(policy))}`
    else if (stateRef !== last) text += ` ${stateRef}`
    last = stateRef
  }
  return text
}

const names = new Map<string, Map<string, string>>()

/** A place in short; always the same string, because it is looked up all the time. */
export function placeName({ ref, key }: StateRef): string {
  let ofScope = names.get(ref.id)
  if (ofScope === undefined) {
    ofScope = new Map()
    names.set(ref.id, ofScope)
  }
  let name = ofScope.get(key)
  if (name === undefined) {
    name = `${ref.id}:${key}`
    ofScope.set(key, name)
  }
  return name
}

/** What came of an ask on a server. */
export interface Outcome {
  readonly granted: number
  /** As the script says it. */
  readonly reply: readonly number[]
  readonly answer?: StoreReply
}

/** Has a store answer an ask of a call, by the clock it has. */
export function runOn(store: MemoryStore, { mode, count, parts: policies, note }: WireAsk): Outcome {
  const list = typeof count === "number" ? [] : count
  const number = typeof count === "number" ? count : 1
  switch (mode) {
    case "spend":
    case "peek":
      return told(store.decide({ policies, count: number, mode }), number, mode)
    case "book":
      return told(store.decide({ policies, count: 1, mode, maxWait: number }), 1, mode)
    case "charge":
      return told(store.decide({ policies, count: 1, mode, maxWait: number }), 1, mode)
    case "reserve": {
      const stateRef = note as StateRef
      return told(store.decide({ policies, count: 1, mode, note: { ref: stateRef, lasts: number } }), 1, mode)
    }
    case "leave":
      store.leave({ policies, at: list[0] as number, receipt: list.slice(1) })
      return { granted: 0, reply: [0] }
    case "give":
      store.giveBack(policies, number === -1 ? undefined : number)
      return { granted: 0, reply: [0] }
    case "settle": {
      const back = policies.filter((_, i) => list[i + 1] === 0)
      const more = policies.filter((_, i) => list[i + 1] === 1)
      const settled = store.settle({ ref: note as StateRef, back, more, maxWait: list[0] as number })
      return { granted: settled ? 1 : 0, reply: [settled ? 1 : 0] }
    }
    case "forget":
      store.forget(policies)
      return { granted: 0, reply: [0] }
  }
}

/** An answer as the script tells it. */
function told(answer: StoreReply, count: number, mode: Mode): Outcome {
  const { granted, levels, at, turn, receipt = [] } = answer
  const reply = levels.flat()
  const short = granted < count
  if (short) reply[0] = -1 - (reply[0] as number)
  if (mode === "book") reply.push(turn === undefined ? -1 : turn - at, ...receipt)
  else if (short && count > 1) reply.push(granted)
  return { granted, reply, answer }
}
