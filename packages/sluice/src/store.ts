import type { Level } from "./algorithm.js"
import type { Clock } from "./clock.js"
import type { LeaseTerms } from "./layers/lease-terms.js"
import type { OutageTerms } from "./layers/outage-terms.js"
import type { Policy } from "./policy.js"
import type { Place } from "./state-key.js"

/** One policy of an ask: where its state is and what the ask costs there. Parts of one ask have different places. */
export interface Part extends Place {
  readonly policy: Policy
  /** Units, 1 or more. */
  readonly cost: number
}

/**
 * `spend` takes what it grants; `peek` only looks. `book` takes a turn, behind all that are booked: when every part
 * grants. `charge` spends whether there is room or not, into debt. `reserve` spends, and notes it for `settle`. The
 * count of the last three is 1.
 */
export type Mode = "spend" | "peek" | "book" | "charge" | "reserve"

/** A question that a store answers in one atomic step: how many of `count` asks pass every part? */
export interface Ask {
  readonly parts: readonly Part[]
  readonly count: number
  readonly mode: Mode
  /** Microseconds: how far ahead a turn may lie, of a `book` or a `charge`. */
  readonly maxWait?: number
  /** Of a `reserve`: where it is noted, and for how many microseconds it can be settled. */
  readonly note?: { readonly place: Place; readonly lasts: number }
}

export interface Answer {
  /** How many of `count` pass: the least room over all parts, and exactly that was taken in each. */
  readonly granted: number
  /** One level per part, for the part's algorithm to explain. */
  readonly levels: readonly Level[]
  /** The microsecond of the store's clock at which it was decided: the moment that a give-back of it names. */
  readonly at: number
  /** Who answered, if not the store itself: a layer that remembers a denial, holds a lease, or stands in for it. */
  readonly source?: "cache" | "lease" | "fallback"
  /** The policies that levels are told under, if not those of the parts. */
  readonly under?: readonly Policy[]
  /** Of a `book`: the microsecond of the turn, or of the one that would have been too late; none if none is to come. */
  readonly turn?: number
  /** Of a turn that was booked: what the store needs to give it back. */
  readonly marks?: readonly number[]
}

/** A turn that was booked. */
export interface Turn {
  readonly parts: readonly Part[]
  readonly at: number
  readonly marks: readonly number[]
}

/** What a reservation has come to. */
export interface Settlement {
  /** Where it was noted. */
  readonly place: Place
  /** What it was too much, and too little. */
  readonly back: readonly Part[]
  readonly more: readonly Part[]
  /** Microseconds: how far ahead turns may lie. */
  readonly maxWait: number
}

/** Stores that wrap a store to spare round trips. */
export interface Layers {
  /** Remembers denials; left out where that is not wanted. */
  readonly denyCache?: (store: Store) => Store
  /** Spends busy keys from blocks that were debited before. */
  leases(store: Store, terms: LeaseTerms): Leases
  /** Has an answer in time, whatever becomes of the store; left out where it always answers. */
  readonly outage?: (store: Store, terms: OutageTerms) => Guarded
}

/** A store that has an answer in time. */
export interface Guarded extends Store {
  readonly health: Health
}

/** How it stands between a limiter and its store. */
export interface Health {
  /** Whether all of the store is asked; if not, what is missing is looked for now and then. */
  readonly reachable: boolean
  /** How many decisions were made without it. */
  readonly degraded: number
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
  ask(ask: Ask): Answer | PromiseLike<Answer>
  /**
   * Gives the cost of each part back, as far as it is spent: a gift. With `at`, the moment of the debit that it was,
   * only what of that debit is certain to count still.
   */
  giveBack(parts: readonly Part[], at?: number): void | PromiseLike<void>
  /**
   * Gives a turn back. If it has not come yet, the line is as if it had never been booked, or the turn goes to whoever
   * books like it next; nobody's turn moves. If it has, as much as `giveBack` would.
   */
  leave(turn: Turn): void | PromiseLike<void>
  /** Settles a reservation: gives back as of its debit, charges the rest. False if it was settled, or is forgotten. */
  settle(settlement: Settlement): boolean | PromiseLike<boolean>
  /** Forgets what is there, under every algorithm: nothing that was debited or booked before is given back after. */
  forget(places: readonly Place[]): void | PromiseLike<void>
}
