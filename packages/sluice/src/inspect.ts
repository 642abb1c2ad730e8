// Shows an operator what is stored for a key. A limiter loads this file when `inspect` is called first, because few programs do. It
// imports nothing that the core has, so that bundlers do not split the core for it.

import { describeState, inWords } from "./algorithms/describe.js"
import type { decide } from "./decide.js"
import type { PolicyDecision } from "./decision.js"
import type { RuleSource } from "./limiter.js"
import type { Charge } from "./policies.js"
import type { placeOfReservation, reservedUnder } from "./reservation.js"
import type { Store, Stored, StoredState } from "./store.js"

/** The stored state of a key under one policy, and what a request of cost 1 would find. */
export interface InspectedPolicy extends Omit<PolicyDecision, "allowed"> {
  /** Units that count now: the limit less what remains. */
  readonly used: number
  /** The same in words. */
  readonly words: string
  /** Milliseconds until the last booked turn. 0 if none is booked. Left out if the store does not tell. */
  readonly lastTurnAfter?: number
  /** Milliseconds until a turn behind all booked turns. `Infinity` if the queue is full. Left out if the store does not tell. */
  readonly nextTurnAfter?: number
  /** The stored state. Left out if the store does not tell. */
  readonly stored?: InspectedState
}

/** A stored state in a readable form. */
export interface InspectedState {
  /** The name of the state in the store: in Redis, the key. Left out if the store names no states, as the memory store. */
  readonly key?: string
  /** The state by names. Times are milliseconds of the store's clock. Empty if nothing is stored. */
  readonly values: Readonly<Record<string, number>>
  /** The same in words. */
  readonly words: string
}

/** A reservation that was looked up by its id. */
export interface InspectedReservation {
  readonly id: string
  /** Whether it can still be settled. If not, it was settled, has expired, or never existed. Left out if the store does not tell. */
  readonly isOpen?: boolean
  /** The estimate under each policy, as the id says. */
  readonly charged: Readonly<Record<string, number>>
  /** Milliseconds until it can no longer be settled. 0 if it is not open. Left out if the store does not tell. */
  readonly expiresAfter?: number
}

/** What an operator can read about a key. */
export interface Inspection {
  readonly key: string
  readonly policies: readonly InspectedPolicy[]
  /** How many gaps waiters that gave up have left in the queue. Other requests can take them. Left out if the store does not tell. */
  readonly gaps?: number
  /** The reservation that was asked for. */
  readonly reservation?: InspectedReservation
  /** The rule that the key is held to, as `rules.find` has it. */
  readonly rule?: unknown
  /** Whether the limiter enforces for this key, or only observes. */
  readonly mode: "enforce" | "observe"
  /** Whether the store did not answer, so that these are not its numbers. */
  readonly degraded: boolean
}

/** What to inspect, and functions of the core. */
export interface Inspected {
  /** The name of the limiter. */
  readonly name: string
  readonly key: string
  /** The policies of the key, at a cost of 1. */
  readonly charged: readonly Charge[]
  readonly options: { readonly reservation?: string | undefined }
  /** The store with its layers, and without. */
  readonly store: Store
  readonly baseStore: Store
  readonly rules: RuleSource | undefined
  observes(key: string): boolean
  readonly core: {
    readonly decide: typeof decide
    readonly reservedUnder: typeof reservedUnder
    readonly placeOfReservation: typeof placeOfReservation
  }
}

export async function inspectKey(inspected: Inspected): Promise<Inspection> {
  const { name, key, charged, options, store, core } = inspected
  const { reservation: id } = options
  const rule = inspected.rules?.find(name, key)
  const estimates = id === undefined ? undefined : core.reservedUnder(id)
  const reservation = id === undefined ? undefined : core.placeOfReservation(name, key, id)
  const reply = await store.decide({ policies: charged, count: 1, mode: "peek", inspect: { reservation } })
  // The fallback of an outage may have a local state, which is not that of the store.
  const stored = reply.source === undefined ? reply.stored : undefined
  const decision = core.decide(charged, reply)
  const policies = charged.map((charge, i): InspectedPolicy => {
    const { limit, window, remaining, retryAfter, resetAfter } = decision.policies?.[i] ?? decision
    const level = { policy: charge.name, limit, window, remaining, retryAfter, resetAfter }
    const state = stored?.states[i]
    const numbers = state && stateOf(inspected, charge, state, reply.at)
    return { ...level, used: limit - remaining, words: wordsOf(level, numbers), ...numbers }
  })
  return {
    key,
    policies,
    ...(stored && { gaps: stored.gaps }),
    ...(id !== undefined && estimates && { reservation: reservationOf(id, estimates, stored, reply.at) }),
    ...(rule !== undefined && { rule }),
    mode: inspected.observes(key) ? "observe" : "enforce",
    degraded: decision.degraded,
  }
}

function stateOf(
  { baseStore: { nameOf } }: Inspected,
  charge: Charge,
  { expiresAt, wait, queue }: StoredState,
  now: number,
) {
  const values = expiresAt > now ? describeState(charge.policy, queue) : {}
  const lastTurnAt = Math.round((values["lastTurnAt"] ?? 0) * 1_000)
  return {
    lastTurnAfter: Math.max(milliseconds(lastTurnAt - now), 0),
    nextTurnAfter: milliseconds(wait),
    stored: {
      ...(nameOf && { key: nameOf(charge) }),
      values,
      words: inWords(values),
    },
  }
}

function wordsOf(
  { limit, remaining, retryAfter, resetAfter }: Omit<PolicyDecision, "allowed">,
  { lastTurnAfter = 0, nextTurnAfter = 0 } = {},
): string {
  const words = [`${remaining} of ${limit} left`]
  if (retryAfter > 0) words.push(`the next request passes in ${retryAfter} ms`)
  if (lastTurnAfter > 0) words.push(`the last booked turn is in ${lastTurnAfter} ms`)
  if (nextTurnAfter === Number.POSITIVE_INFINITY) words.push("the queue is full")
  else if (lastTurnAfter > 0) words.push(`a new waiter has its turn within ${nextTurnAfter} ms`)
  if (resetAfter > 0) words.push(`nothing spent in ${resetAfter} ms`)
  return words.join(", ")
}

function reservationOf(
  id: string,
  estimates: ReadonlyMap<string, { readonly cost: number }>,
  stored: Stored | undefined,
  now: number,
): InspectedReservation {
  const charged = Object.fromEntries([...estimates].map(([name, { cost }]) => [name, cost]))
  if (stored === undefined) return { id, charged }
  const expiresAfter = Math.max(milliseconds((stored.reservation?.expiresAt ?? now) - now), 0)
  return { id, isOpen: expiresAfter > 0, charged, expiresAfter }
}

/** Microseconds as milliseconds, rounded up. */
function milliseconds(us: number): number {
  return Math.ceil(us / 1_000)
}
