import type { BucketTerms } from "./bucket-terms.js"

/** Nothing is spent any more at `FULL` microseconds and `PART` / `PARTS` of one. */
export const FULL = 0
export const PART = 1
export const PARTS = 2
/** Milliseconds: as in the terms it was written under, and more by what was booked ahead or is owed. */
export const REACH = 3
/** Where steps are counted from, and until when if the bucket is full; NaN if no steps were. */
export const ANCHOR = 4
export const LAPSES_AT = 5
/** When the last turn is, if it was to come when it was booked; else 0. */
export const LAST = 6
/** How much will be spent when a turn comes, at the least: more than that given back before would run over. */
export const LOW = 7

export interface BucketView {
  now: number
  /** `now`, or the step at or before it. */
  at: number
  /** How far ahead of `at` the bucket is full again, and its part. */
  ahead: number
  part: number
  reach: number
  anchor: number
  lapsesAt: number
  last: number
  low: number
  jumped: boolean
}

/** Writes the state that a view has come to; until when it matters. */
export function keep(
  terms: BucketTerms,
  view: BucketView,
  reach: number,
  cells: Float64Array,
  cell: number,
): number {
  const full = view.at + view.ahead
  const until = Number.isNaN(view.anchor) ? 0 : view.lapsesAt
  cells[cell + FULL] = full
  cells[cell + PART] = view.part
  cells[cell + PARTS] = terms.parts
  cells[cell + REACH] = reach
  cells[cell + ANCHOR] = view.anchor
  cells[cell + LAPSES_AT] = until
  const waited = view.last >= view.now
  cells[cell + LAST] = waited ? view.last : 0
  cells[cell + LOW] = waited ? view.low : 0
  return Math.max(full + 1, until)
}
