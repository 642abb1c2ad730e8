import type { Policy } from "./policy.js"

/** What an algorithm reports of one policy after an ask: integers, so that any store can carry them. */
export type Level = readonly number[]

/**
 * Room for as many integers. It holds doubles from the start, for 0.5 is no small integer: V8 would else have to make
 * doubles of small integers when a larger one is put in, as often as one is.
 */
export function integers(count: number): number[] {
  if (count === 1) return [0.5]
  if (count === 2) return [0.5, 0.5]
  return count === 3 ? [0.5, 0.5, 0.5] : new Array(count).fill(0.5)
}

/** A level of one, two or three integers. */
export function levelOf(first: number, second?: number, third?: number): Level {
  const level = integers(second === undefined ? 1 : third === undefined ? 2 : 3)
  level[0] = first
  if (second !== undefined) level[1] = second
  if (third !== undefined) level[2] = third
  return level
}

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

/** The same of what was granted. */
export type Granted = Omit<Explanation, "retryAfter">

/** What has come of a spend, in the words of a Decision, and when the state stops mattering. */
export interface Spent extends Granted {
  readonly expiresAt: number
}

/** How many numbers a state in numbers has at hand. */
export const ROW = 4

/** Numbers of states side by side, `ROW` to each from its cell on, and as many again where a state needs more. */
export interface Numbers {
  readonly near: Float64Array
  far(): Float64Array
}

/** Where a store keeps states side by side: in numbers, or one object to each. */
export type Cells = Numbers | object[]

/** Room for one state in numbers, that is yet to be written. */
export function zeros(): Numbers {
  const far = new Float64Array(ROW)
  return { near: new Float64Array(ROW), far: () => far }
}

/**
 * How a policy counts, told once here and once in Lua, with the same names in the same order.
 *
 * An ask runs through it as: `read` the state, see how much `room` there is, and, when every policy of
 * the ask has room, `take` it in each; then `tell` the level. `read`, `room` and `tell` change nothing.
 * All times are whole microseconds. A state is in the `cells` from `cell` on. What writes one, `take`, `charge`,
 * `give`, `restore` and `mend`, returns the microsecond at which it stops mattering.
 *
 * A turn ahead is booked by doing now what will be done then: the state is read as it will stand at the `turn`, and
 * taken from with the time there, so turns follow each other in the order in which they were asked for.
 */
export interface Algorithm<Terms, C extends Cells, View> {
  /** Whether its state is numbers; else it is an object. */
  readonly inNumbers: boolean
  /** The numbers a step needs, derived once from a policy and a cost. */
  terms(policy: Policy, cost: number): Terms
  /** The state as it stands at `now`; no cells if there is none. A view holds until the algorithm reads again. */
  read(terms: Terms, cells: C | undefined, cell: number, now: number): View
  /** How many of `count` asks of this cost fit. */
  room(terms: Terms, view: View, count: number): number
  /** Spends `granted` times the cost; at a turn, of a view that was read for `lead` ahead of the clock. */
  take(terms: Terms, view: View, granted: number, cells: C, cell: number, lead?: number): number
  /**
   * Spends the cost once, of a state that is as plain as its twin in Lua looks at first, or of none, which is zeros.
   * Undefined if there is more to look at; then nothing has changed. Left out where there always is.
   */
  spendPlain?(terms: Terms, cells: C, cell: number, now: number): Spent | undefined
  /** How long until a turn of this cost, behind every turn that is booked; `Infinity` if there is none to be had. */
  turn(terms: Terms, view: View): number
  /** How the line of booked turns stands, in integers: different after each, and all that `restore` needs. */
  line(view: View): readonly number[]
  /** How many integers that are. */
  readonly lineWidth: number
  /** Puts the line back to how it stood before the last turn was booked. 0 if no state is left. */
  restore(terms: Terms, view: View, line: readonly number[], cells: C, cell: number): number
  /**
   * Spends the cost whether it fits or not. What does not fit goes into debt, of as much as the limit at the most,
   * behind turns that lie up to `maxWait` ahead.
   */
  charge(terms: Terms, view: View, maxWait: number, cells: C, cell: number): number
  /** Whether anything of this much, spent at `debitedAt`, is certain to count still. */
  counts(terms: Terms, view: View, debitedAt: number): boolean
  /**
   * Gives the cost back, as far as it is spent: a gift, or what of a debit is certain to count still. 0 if no state
   * is left.
   */
  give(terms: Terms, view: View, debitedAt: number | undefined, cells: C, cell: number): number
  /** Replaces a state that lies further ahead than the clock can explain. 0 if this is none. */
  mend(terms: Terms, view: View, cells: C, cell: number): number
  /** The level of the view; `short` says that not all that was asked for has been granted. */
  tell(terms: Terms, view: View, short: boolean): Level
  /**
   * What a level means; `allowed` spares the search for a wait that is over. Of who would wait for a turn, `asTurn` tells how
   * long that is.
   */
  explain(terms: Terms, level: Level, allowed?: boolean, asTurn?: boolean): Explanation
  /** How long until this cost passes; `Infinity` when it never can. */
  wait(terms: Terms, level: Level): number
}
