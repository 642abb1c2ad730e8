import type { Policy } from "./algorithms/registry.js"

/** The report of one policy after a request, as a list of integers that any store can transfer. */
export type Level = readonly number[]

/** A level in the fields of a Decision. */
export interface Explanation {
  /** The most the policy ever grants at once. */
  readonly limit: number
  /** The policy's window in milliseconds. For a bucket, the time from empty to full. */
  readonly window: number
  /** Whole units left now. */
  readonly remaining: number
  /** Milliseconds until this cost passes. `Infinity` if it never can. */
  readonly retryAfter: number
  /** Milliseconds until nothing is spent any more. */
  readonly resetAfter: number
}

/** The stored state of one key: a plain object that knows when it expires. */
export interface State {
  /** The microsecond at which the state equals no state at all. */
  expiresAt: number
  /** The gaps between booked turns, soonest first. */
  gaps?: readonly Gap[] | undefined
}

/**
 * A part of the queue whose turns were given back. Requests that fit are admitted in it, from its front to its back. Each
 * side is a queue state: `front` as it was before the first of these turns, plus what was admitted since; `back` as it was
 * after the last of them.
 */
export interface Gap {
  readonly front: readonly number[]
  readonly back: readonly number[]
}

/** A state by names. Times end in `At`, `From` or `Until`: milliseconds of the store's clock. Unused values are left out. */
export type StateValues = Readonly<Record<string, number>>

/** A state at one moment. */
export interface View {
  /** Whether the clock went back since the state was written. The view is the repaired state. */
  readonly jumped: boolean
  gaps: readonly Gap[] | undefined
}

/**
 * How a policy counts. Each algorithm is written once here and once in Lua, with the same names in the same order.
 *
 * For a request, a store first calls `read` and `room` of every policy. If all have room, it calls `take` of each. Then it
 * reports the `level` of each. All times are whole microseconds.
 *
 * A function that writes changes the view and returns the next state, or undefined when nothing is left to store. It may
 * change the state that was read in place: a new object per write costs a third of a decision in garbage collection.
 *
 * A turn is booked by spending ahead of time. The state is read as it will stand at the `turn`, and `take` gets the time until
 * then as `lead`. So turns follow each other in the order of the requests.
 */
export interface Algorithm<Parameters, S extends State, V extends View> {
  /** The numbers of one step, derived once from a policy and a cost. */
  parameters(policy: Policy, cost: number): Parameters
  /** The state as it stands at `now`. */
  read(parameters: Parameters, state: S | undefined, now: number): V
  /** How many of `count` requests of this cost fit. */
  room(parameters: Parameters, view: V, count: number): number
  /** Spends `granted` times the cost. For a turn, the view was read `lead` ahead of the clock. */
  take(parameters: Parameters, view: V, granted: number, lead?: number): S
  /** Writes a view that was repaired, or whose gaps have changed. */
  save(parameters: Parameters, view: V): S | undefined
  /** The level of the view. `short` says that not all of the request was granted. */
  level(parameters: Parameters, view: V, short: boolean): Level
  /** The level of a denial of this cost that ends after `wait`, because the cost then fits into a gap. */
  levelUntil(parameters: Parameters, view: V, wait: number): Level
  /** How long until this cost passes. `Infinity` if it never can. */
  wait(parameters: Parameters, level: Level): number
  /** How long until a turn of this cost, behind every booked turn. `Infinity` if it never comes. */
  turn(parameters: Parameters, view: V): number
  /** The queue of booked turns, in integers: different after each turn, and all that `restore` and `front` need. */
  queueState(view: V): readonly number[]
  /** Puts names to a queue state, for operators. */
  describe(queue: readonly number[]): StateValues
  /** How many integers that are. */
  readonly queueWidth: number
  /** Puts the queue back to an earlier queue state, when all turns since then were given back. */
  restore(parameters: Parameters, view: V, queue: readonly number[]): S | undefined
  /** The state as it would stand at the time of the view if the queue ended at this queue state: the front of a gap with this back. */
  front(parameters: Parameters, view: V, queue: readonly number[], back: readonly number[]): V
  /** Whether a front, after a `take`, is still within a gap with this back. */
  isWithin(parameters: Parameters, view: V, back: readonly number[]): boolean
  /** Whether a gap is over whose back has this place, the first of its integers. */
  isOver(view: V, backPlace: number): boolean
  /** Notes that the queue has a gap, and what was admitted in it. */
  noteGap?(view: V, filled?: V): void
  /** How many of the integers of a queue state tell it from others. */
  readonly queueIdentity: number
  /**
   * Spends the cost whether it fits or not. What does not fit becomes debt: at most the limit, behind turns that lie
   * up to `maxWait` ahead.
   */
  charge(parameters: Parameters, view: V, maxWait: number): S
  /** Whether any of this much, spent at `debitedAt`, certainly still counts. */
  counts(parameters: Parameters, view: V, debitedAt: number): boolean
  /** Gives back at most what is spent. With `debitedAt`, only units of that spend that certainly still count. */
  give(parameters: Parameters, view: V, debitedAt: number | undefined): S | undefined
  /** The share of the limit that is spent, from 0 to 1. A full store evicts the keys with the smallest share. */
  spentShare(parameters: Parameters, view: V): number
  /** How many plain states take as much memory. Left out: one. */
  weight?(state: S): number
  /** Explains a level. `allowed` skips the search for a wait. `asTurn` reports the wait for a turn instead. */
  explain(parameters: Parameters, level: Level, allowed?: boolean, asTurn?: boolean): Explanation

  /** Whether `wait` and `explain` can read the level of a request with another cost. */
  readonly readsAnyCost: boolean
  /** The level before the last `times` grants of this cost. */
  levelBefore(parameters: Parameters, level: Level, times: number): Level
  /** The level of a denial `us` later, if nothing was spent or given back meanwhile. */
  levelLater(parameters: Parameters, level: Level, us: number): Level
  /** The shortest time for which units spent now count in full. A lease of them ends no later. */
  countsInFull(parameters: Parameters, level: Level): number
  /** How many units the level of a denial says are spent, including turns to come and debt. Rounded up. */
  unitsSpent(parameters: Parameters, level: Level): number
}
