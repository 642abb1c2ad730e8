import type { Granted, Level } from "../algorithm.js"
import type { Policy } from "../policy.js"
import { bucketTwin, stepwiseTwin } from "./bucket/bucket-twin.js"
import { fixedWindowTwin } from "./fixed-window/fixed-window-twin.js"
import { logTwin } from "./log/log-twin.js"

/**
 * The twin in Lua of an algorithm, as it is seen from here: what it is sent, and what is made of the levels it has told.
 * Only what asks Redis needs any of it.
 */
export interface Twin<Terms> {
  /** Its name there. */
  readonly name: string
  /** The terms it reads. */
  sent(terms: Terms): Readonly<Record<string, number>>
  /**
   * The terms of a spend of `count` times the cost that it may look at first, one by one: see `lane.lua`. None if
   * there is always more to look at, here as there.
   */
  plain(terms: Terms, count: number): readonly number[] | undefined
  /** How many integers a level is; `short` says that not all that was asked for has been granted. */
  width(terms: Terms, short: boolean): number
  /** Whether `wait` and `explain` read a level that was told for another cost as if told for this one. */
  readonly anyCost: boolean
  /** The level of a grant after which as much was granted `times` more in the same step. */
  before(terms: Terms, level: Level, times: number): Level
  /** The level that a denial has come to `us` later, if nothing else was spent or given back. */
  later(terms: Terms, level: Level, us: number): Level
  /** How long what was spent now counts in full, at least: a lease of it ends no later. */
  holds(terms: Terms, level: Level): number
  /** How many units a level of a denial says are spent, those of turns to come and of debt too; rounded up. */
  units(terms: Terms, level: Level): number
  /**
   * What a level means as it was before the last `times` grants of it, and `us` later, told in few words: by `before`,
   * `later` and `explain` it would be the same. Undefined if there is more to look at. Left out where there always is.
   */
  explainPlain?(terms: Terms, level: Level, times: number, us: number): Granted | undefined
}

/** A twin whose terms only it can read. */
export type AnyTwin = Twin<unknown>

const twins: Record<Policy["algorithm"], AnyTwin> = {
  fixedWindow: fixedWindowTwin as AnyTwin,
  slidingLog: logTwin as AnyTwin,
  slidingWindow: logTwin as AnyTwin,
  tokenBucket: bucketTwin as AnyTwin,
  leakyBucket: bucketTwin as AnyTwin,
}

/** The twin of the algorithm by which a policy counts. */
export function twinOf(policy: Policy): AnyTwin {
  if (policy.algorithm === "tokenBucket" && policy.mode === "interval") return stepwiseTwin as AnyTwin
  return twins[policy.algorithm]
}
