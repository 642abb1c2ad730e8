import type { Level } from "./algorithm.js"
import type { Clock } from "./clock.js"
import type { LeaseTerms } from "./layers/lease-terms.js"
import type { Policy } from "./policy.js"
import type { Place } from "./state-key.js"

/** One policy of an ask: where its state is and what the ask costs there. Parts of one ask have different places. */
export interface Part extends Place {
  readonly policy: Policy
  /** Units, 1 or more. */
  readonly cost: number
}

/** `spend` takes what it grants; `peek` only looks. */
export type Mode = "spend" | "peek"

/** A question that a store answers in one atomic step: how many of `count` asks pass every part? */
export interface Ask {
  readonly parts: readonly Part[]
  readonly count: number
  readonly mode: Mode
}

export interface Answer {
  /** How many of `count` pass: the least room over all parts, and exactly that was taken in each. */
  readonly granted: number
  /** One level per part, for the part's algorithm to explain. */
  readonly levels: readonly Level[]
  /** The microsecond of the store's clock at which it was decided: the moment that a give-back of it names. */
  readonly at: number
  /** Who answered, if not the store itself: a layer that remembers a denial, or that holds a lease. */
  readonly source?: "cache" | "lease"
}

/** Stores that wrap a store to spare round trips. */
export interface Layers {
  /** Remembers denials; left out where that is not wanted. */
  readonly denyCache?: (store: Store) => Store
  /** Spends busy keys from blocks that were debited before. */
  leases(store: Store, terms: LeaseTerms): Leases
}

/** A store that spends from leases, to be closed when it is done with. */
export interface Leases extends Store {
  /** Gives back what is not spent. */
  close(): Promise<void>
}

/**
 * Where state lives. A store runs the algorithms next to its data, by its own clock; it answers at once or
 * with a promise. `sluice/testing` has the suite that says whether it is one.
 */
export interface Store {
  /** How time passes for it, told in this process: layers age its answers by it. A monotonic clock if left out. */
  readonly clock?: Clock
  /** What spares its round trips; left out by a store that takes none. */
  readonly layers?: Layers
  ask(ask: Ask): Answer | Promise<Answer>
  /**
   * Gives the cost of each part back, as far as it is spent: a gift. With `at`, the moment of the debit that it was,
   * only what of that debit is certain to count still.
   */
  giveBack(parts: readonly Part[], at?: number): void | Promise<void>
  /** Forgets what is there, under every algorithm. */
  forget(places: readonly Place[]): void | Promise<void>
}

/** Whether a store answers with a promise. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T>)?.then === "function"
}
