// The events of a process, for `sluice/telemetry`. There is one slot for a listener, empty by default.

import type { Decision } from "./decision.js"
import type { ErrorCode } from "./errors.js"
import type { Settlement } from "./store.js"

/** The calls of a limiter that decide something. */
export type Call = "tryAcquire" | "acquire" | "reserve" | "charge"

/** What became of a request. `would_deny` and `would_wait` passed, because the limiter only observes. */
export type Outcome = "allowed" | "denied" | "would_deny" | "would_wait" | "error"

/** A limiter has decided, or failed to. */
export interface DecisionEvent {
  readonly type: "decision"
  readonly limiter: string
  readonly call: Call
  readonly outcome: Outcome
  /** Left out if there is none, because of an error. */
  readonly decision?: Decision | undefined
  /** The cost of the request: one entry per policy, in the order of `decision.policies`. */
  readonly costs: readonly number[]
  /** Milliseconds. Left out if there was no round trip. */
  readonly duration?: number | undefined
  readonly error?: ErrorCode | undefined
}

/** A request to a remote store has been answered. */
export interface StoreEvent {
  readonly type: "store"
  /** `other`: units or a turn were given back, a reservation was settled, a key was reset. */
  readonly call: "decide" | "other"
  /** Milliseconds. */
  readonly duration: number
  /** `_OTHER` for an error that is none of Sluice. */
  readonly error?: ErrorCode | "_OTHER" | undefined
}

/** Redis has answered a call, which carries the requests of one tick. */
export interface BatchEvent {
  readonly type: "batch"
  /** How many requests it carried, and as how many they were sent, because equal ones are sent as one. */
  readonly requests: number
  readonly sent: number
  /** Milliseconds. */
  readonly duration: number
  readonly failed: boolean
}

/** Requests that Redis certainly did not run are sent again. */
export interface RetryEvent {
  readonly type: "retry"
  readonly requests: number
}

/** A block of units was taken from the store, or what is left of it goes back. */
export interface LeaseEvent {
  readonly type: "lease"
  readonly change: "taken" | "returned"
  /** Units under all policies. */
  readonly units: number
}

/** A request begins to wait for its turn, or no longer waits. */
export interface WaitEvent {
  readonly type: "wait"
  readonly limiter: string
  readonly change: "started" | "ended"
  /** Of one that has ended. */
  readonly result?: "granted" | "timeout" | "aborted" | "error" | undefined
  /** Milliseconds, of one that has ended. */
  readonly duration?: number | undefined
}

/** An estimate was spent, or settled. */
export interface ReservationEvent {
  readonly type: "reservation"
  readonly limiter: string
  readonly change: "made" | "settled"
  /** The true cost divided by the estimate, over all policies; of one that was settled. */
  readonly ratio?: number | undefined
}

/** A circuit breaker has opened: the store is not called for the time being. Or it has closed. */
export interface BreakerEvent {
  readonly type: "breaker"
  readonly limiter: string
  readonly state: "open" | "closed"
}

/** This process has read changed rules. */
export interface RulesEvent {
  readonly type: "rules"
  readonly version: number
  /** How many there are, and how many have changed. */
  readonly rules: number
  readonly changes: number
}

export type SluiceEvent =
  | DecisionEvent
  | StoreEvent
  | BatchEvent
  | RetryEvent
  | LeaseEvent
  | WaitEvent
  | ReservationEvent
  | BreakerEvent
  | RulesEvent

/** The request behind a decision. */
export interface Decided {
  readonly limiter: string
  readonly call: Call
  readonly charged: readonly { readonly name: string; readonly key: string; readonly cost: number }[]
  /** By the monotonic clock. Left out if there was no round trip. */
  readonly since?: number | undefined
  /** Whether it would have had its turn in time, had it waited. */
  readonly wouldWait?: boolean
}

/**
 * Told of everything that happens, so that events are built only if somebody listens. No method may throw. The key is
 * apart from an event, so that none contains it by mistake.
 */
export interface Listener {
  emit(event: SluiceEvent, key?: string): void
  decision(about: Decided, decision: Decision | undefined, error?: unknown): void
  /** A decision for claims on several limiters: about each of them. */
  combined(abouts: readonly Decided[], decision: Decision): void
  store(call: StoreEvent["call"], startedAt: number, error?: unknown): void
  wait(
    limiter: string,
    wait: Promise<{ readonly granted: number }>,
    signal?: { readonly aborted: boolean },
  ): void
  settled(limiter: string, key: string, id: string, settlement: Settlement): void
}

/** Whoever listens. `if (listener !== undefined)` is all that an event costs when nobody does. */
export let listener: Listener | undefined

/** Fills the slot, or empties it. */
export function setListener(next: Listener | undefined): void {
  listener = next
}
