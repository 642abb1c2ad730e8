import type { Numbers } from "../../algorithm.js"
import type { BucketTerms } from "./bucket-terms.js"

/** Near: nothing is spent any more at `FULL` microseconds and `PART` of as many parts of one as `FORM` says. */
export const FULL = 0
export const PART = 1
/** Less than 0 if there is more to tell, which is far. */
export const FORM = 2
/** Milliseconds: as in the terms it was written under, and more by what was booked ahead or is owed. */
export const REACH = 3
/** Far: where steps are counted from, and until when if the bucket is full; NaN if no steps were. */
export const ANCHOR = 0
export const LAPSES_AT = 1
/** When the last turn is, if it was to come when it was booked; else 0. */
export const LAST = 2
/** How much will be spent when a turn comes, at the least: more than that given back before would run over. */
export const LOW = 3

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
  { parts }: BucketTerms,
  view: BucketView,
  reach: number,
  cells: Numbers,
  cell: number,
): number {
  const { near } = cells
  const full = view.at + view.ahead
  const stepwise = !Number.isNaN(view.anchor)
  const waited = view.last >= view.now
  const until = stepwise ? view.lapsesAt : 0
  if (stepwise || waited) {
    const far = cells.far()
    far[cell + ANCHOR] = view.anchor
    far[cell + LAPSES_AT] = until
    far[cell + LAST] = waited ? view.last : 0
    far[cell + LOW] = waited ? view.low : 0
  }
  near[cell + FULL] = full
  near[cell + PART] = view.part
  near[cell + FORM] = stepwise || waited ? -parts : parts
  near[cell + REACH] = reach
  return Math.max(full + 1, until)
}
