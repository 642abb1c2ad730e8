import type { Level } from "./algorithm.js"
import type { Clock } from "./clock.js"
import type { Policy } from "./policy.js"
import type { StateRef } from "./state-key.js"

/** One policy of a request: the name of its state, and the cost. No two policies of a request share a state. */
export interface PolicyRequest extends StateRef {
  readonly policy: Policy
  /** Units, 1 or more. */
  readonly cost: number
}

/**
 * What a request does. `spend` grants and spends. `peek` writes nothing. `book` takes a turn behind all booked turns or in a gap between them, at the time
 * when every policy grants. `charge` spends whether there is room or not, into debt. `reserve` spends, and stores a note for
 * `settle`. The count of the last three is 1.
 */
export type Mode = "spend" | "peek" | "book" | "charge" | "reserve"

/** A store answers it in one atomic step: how many of `count` requests pass every policy? */
export interface StoreRequest {
  readonly policies: readonly PolicyRequest[]
  readonly count: number
  readonly mode: Mode
  /** Microseconds: how far ahead a turn may lie, of a `book` or a `charge`. */
  readonly maxWait?: number
  /** Of a `reserve`: where it is noted, and for how many microseconds it can be settled. */
  readonly note?: { readonly ref: StateRef; readonly lasts: number }
  /** Of a `peek`: the reply also says what is stored, and what is noted of a reservation. A store may ignore it. */
  readonly inspect?: { readonly reservation?: StateRef | undefined }
}

export interface StoreReply {
  /** How many of `count` pass: the least room of all policies. Each policy was charged for exactly these. */
  readonly granted: number
  /** One level per policy, for its algorithm to explain. Missing where the level is unknown. */
  readonly levels: readonly Level[]
  /** When it was decided, in microseconds of the store's clock. `giveBack` needs it. */
  readonly at: number
  /** Who answered, if not the store itself: the deny cache, a lease, the fallback of an outage, or a rule. */
  readonly source?: "cache" | "lease" | "fallback" | "rule"
  /** The policies that the levels belong to, if not those of the request. */
  readonly under?: readonly Policy[]
  /** For `book`: the microsecond of the turn, or of the turn that would be too late. Missing if none will ever come. */
  readonly turn?: number
  /** For a booked turn: numbers that the store needs to give it back. */
  readonly receipt?: readonly number[]
  /** Whether some of it was spent and given back before the denial. Others may have been denied meanwhile. */
  readonly gaveBack?: boolean
  /** For a `peek` with `inspect`: what is stored. */
  readonly stored?: Stored
}

/** What a store keeps for the policies of a request. All times are whole microseconds. */
export interface Stored {
  /** One per policy. */
  readonly states: readonly StoredState[]
  /** How many gaps the waiters that gave up have left in the queue, at most under one policy. Neighbouring turns leave one gap. */
  readonly gaps: number
  /** The reservation asked for: when it was debited, and until when it can be settled. Missing if it is not noted. */
  readonly reservation?: { readonly debitedAt: number; readonly expiresAt: number } | undefined
}

export interface StoredState {
  /** When the state equals no state at all. 0 if nothing is stored. */
  readonly expiresAt: number
  /** How long until a turn of this cost, behind every booked turn. `Infinity` if it never comes. */
  readonly wait: number
  /** The `queueState` of its algorithm. */
  readonly queue: readonly number[]
}

/** A turn that was booked. */
export interface Turn {
  readonly policies: readonly PolicyRequest[]
  readonly at: number
  readonly receipt: readonly number[]
}

/** The difference between an estimate and the actual cost. */
export interface Settlement {
  /** Where it was noted. */
  readonly ref: StateRef
  /** Where the estimate was too high, and where it was too low. */
  readonly back: readonly PolicyRequest[]
  readonly more: readonly PolicyRequest[]
  /** Microseconds: how far ahead turns may lie. */
  readonly maxWait: number
}

/** A rule that is put in, or removed if its value is empty. Fields and values mean nothing to a store. */
export interface RuleChange {
  readonly field: string
  readonly value: string
  /** Shown in the history: who, why, until when. */
  readonly note?: Readonly<Record<string, unknown>>
}

/** A change as the history has it. */
export interface RuleEntry extends RuleChange {
  readonly version: number
  /** Milliseconds, by the store's clock. */
  readonly at: number
}

/** The changes of the rules since a version. */
export interface RuleChanges {
  /** Milliseconds, by the store's clock. */
  readonly now: number
  /** Differs when the store has lost its rules and counts versions anew. */
  readonly epoch: string
  readonly version: number
  /** Whether these are all rules, not only those that have changed. */
  readonly isFull: boolean
  /** Oldest change first. */
  readonly entries: readonly RuleChange[]
}

/** Where a store keeps rules. Each change raises the version by one. */
export interface RuleTable {
  read(epoch: string, version: number): PromiseLike<RuleChanges>
  /** Makes all changes in one atomic step. Resolves with the version, or -1 if there would be too many rules. */
  write(epoch: string, changes: readonly RuleChange[]): PromiseLike<number>
  /** The latest changes, newest first. */
  history(count: number): PromiseLike<readonly RuleEntry[]>
}

/** How many rules a store keeps, and how many of the latest changes. */
export const ruleLimits = { MOST_RULES: 200_000, MOST_HISTORY: 1_000 } as const

/** Where processes publish reports about themselves, such as their top keys. */
export interface ReportBoard {
  /**
   * Replaces the report of a process. It expires after `lasts` milliseconds. An empty report removes it. Resolves with false if
   * there are too many processes.
   */
  publish(process: string, report: string, lasts: number): PromiseLike<boolean>
  /** The reports that have not expired, by process. */
  read(): PromiseLike<ReadonlyMap<string, string>>
}

/** How many processes have a report at a time. */
export const reportLimits = { MOST_REPORTS: 256 } as const

/**
 * Where state lives. A store runs the algorithms next to its data, by its own clock. It answers at once or with a
 * promise. The conformance suite of `sluice/testing` tests every rule that a store must keep.
 */
export interface Store {
  /** The store's clock as this process sees it. Layers age cached replies by it. Default: a monotonic clock. */
  readonly clock?: Clock
  /** Whether a call leaves the process. The limiter then adds a deadline, a circuit breaker, leases and a deny cache. */
  readonly remote?: boolean
  /** `false` switches off the deny cache of a remote store. */
  readonly denyCache?: boolean
  /** Names the shard of some states, if the store can lose one shard and keep others. Each gets its own circuit breaker. */
  readonly shardOf?: (refs: readonly StateRef[]) => string
  /** Names a state as the store does, for operators. */
  readonly nameOf?: (policy: PolicyRequest) => string
  /** Where rules are kept. Without it, `sluice/rules` keeps them in the process. */
  readonly rules?: RuleTable
  /** Where processes publish reports. Without it, `topKeys` of `sluice/telemetry` knows only its own process. */
  readonly reports?: ReportBoard
  decide(request: StoreRequest): StoreReply | PromiseLike<StoreReply>
  /**
   * Gives the cost of each policy back, as far as it is spent. With `at`, the time of a debit, only as far as that debit
   * certainly still counts.
   */
  giveBack(policies: readonly PolicyRequest[], at?: number): void | PromiseLike<void>
  /**
   * Gives a turn back. A turn in the future becomes free: the queue ends earlier, or has a gap for any request that fits.
   * Other turns do not move. A turn in the past is given back as by `giveBack`.
   */
  leave(turn: Turn): void | PromiseLike<void>
  /** Settles a reservation: gives back as of its debit, or charges more. False if it was settled before or has expired. */
  settle(settlement: Settlement): boolean | PromiseLike<boolean>
  /** Deletes the states, under every algorithm. Earlier debits and turns can no longer be given back. */
  forget(stateRefs: readonly StateRef[]): void | PromiseLike<void>
}
