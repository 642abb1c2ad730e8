import type { Numbers } from "../../algorithm.js"

export interface FixedWindowTerms {
  readonly limit: number
  readonly window: number
  /** 1: windows are cut at multiples of their length; 0: they open with their first use. */
  readonly aligned: 0 | 1
  readonly cost: number
}

export const START = 0
export const STOP = 1
export const USED = 2
/**
 * Milliseconds: the longest window of the policies that granted in it, and more by what was booked ahead. -1 less that if
 * it was booked, and whoever comes before it opens has to wait; else it was open when it was first used.
 */
export const REACH = 3

export interface FixedWindowView {
  now: number
  start: number
  stop: number
  used: number
  reach: number
  booked: 0 | 1
  /** Microseconds until it opens, if it was booked. */
  opens: number
  jumped: boolean
}

/** Writes the state that a view has come to; until when it matters. */
export function keep(
  { start, stop, used, reach, booked }: FixedWindowView,
  { near }: Numbers,
  cell: number,
): number {
  near[cell + START] = start
  near[cell + STOP] = stop
  near[cell + USED] = used
  near[cell + REACH] = booked === 1 ? -1 - reach : reach
  return stop
}
