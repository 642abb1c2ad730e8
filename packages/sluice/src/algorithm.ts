import type { Policy } from "./policy.js"

/** What an algorithm reports of one policy after an ask: integers, so that any store can carry them. */
export type Level = readonly number[]

/** A level in the words of a Decision. */
export interface Explanation {
  /** The most the policy ever grants at once. */
  readonly limit: number
  /** Whole units left now. */
  readonly remaining: number
  /** Milliseconds until this cost passes; `Infinity` when it never can. */
  readonly retryAfter: number
  /** Milliseconds until nothing is spent any more. */
  readonly resetAfter: number
}

/** What a store keeps per key; the rest of it is the algorithm's own. */
export interface State {
  /** The microsecond at which the state stops mattering. */
  readonly expiresAt: number
}

/**
 * How a policy counts, told once here and once in Lua, with the same names in the same order.
 *
 * An ask runs through it as: `read` the state, see how much `room` there is, and, when every policy of
 * the ask has room, `take` it in each; then `tell` the level. `read`, `room` and `tell` change nothing.
 * All times are whole microseconds. A state belongs to whoever called last: `take` and `give` may reuse it.
 */
export interface Algorithm<Terms, S extends State, View> {
  /** The name of its twin in Lua. */
  readonly lua: string
  /** The numbers a step needs, derived once from a policy and a cost. */
  terms(policy: Policy, cost: number): Terms
  /** The terms its twin reads. */
  sent(terms: Terms): Readonly<Record<string, number>>
  /** The state as it stands at `now`. */
  read(terms: Terms, state: S | undefined, now: number): View
  /** How many of `count` asks of this cost fit. */
  room(terms: Terms, view: View, count: number): number
  /** Spends `granted` times the cost; the next state. */
  take(terms: Terms, view: View, granted: number): S
  /** Whether this much, spent at `at`, is certain to count still. */
  counts(terms: Terms, view: View, at: number): boolean
  /** Gives the cost back, as far as it is spent; the next state, if any is left. A debit that counts, or a gift. */
  give(terms: Terms, view: View, gift: boolean): S | undefined
  /** The state to put in place of one that lies further ahead than the clock can explain, if this is one. */
  mend(terms: Terms, view: View): S | undefined
  /** The level of the view; `short` says that not all that was asked for has been granted. */
  tell(terms: Terms, view: View, short: boolean): Level
  /** How many integers `tell` gives. */
  width(terms: Terms, short: boolean): number
  /** What a level means. */
  explain(terms: Terms, level: Level): Explanation
  /** How long until this cost passes; `Infinity` when it never can. */
  wait(terms: Terms, level: Level): number
  /** Whether `wait` and `explain` read a level that was told for another cost as if told for this one. */
  readonly anyCost: boolean
  /** The level of a grant after which as much was granted `times` more in the same step. */
  before(terms: Terms, level: Level, times: number): Level
  /** The level that a denial has come to `us` later, if nothing else was spent or given back. */
  later(terms: Terms, level: Level, us: number): Level
  /** How long what was spent now counts in full, at least: a lease of it ends no later. */
  holds(terms: Terms, level: Level): number
}
