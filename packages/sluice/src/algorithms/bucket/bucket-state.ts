import type { State, View } from "../../algorithm.js"
import type { BucketParameters } from "./bucket-parameters.js"

/** The time at which the bucket is full again: `full` microseconds, and `part` of `parts` pieces of the next one. */
export interface BucketState extends State {
  full: number
  part: number
  parts: number
  /** How far ahead the writing policy can lead, in milliseconds. Includes bookings and debt. */
  reach: number
  /** In interval mode: the time that steps are counted from, otherwise -1; and until when a full bucket keeps it. */
  anchor: number
  lapsesAt: number
  /** When the last booked turn comes, or 0. */
  last: number
  /** The least that will be spent when a turn comes. Giving back more than that would overflow the bucket. -1: nothing is given back. */
  low: number
  /** How far the queue has moved forward, because units were given back while turns were booked. */
  given: number
}

/** A bucket at one moment. */
export interface BucketView extends View {
  readonly state: BucketState | undefined
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
  given: number
}

/** Writes a view into its state. */
export function stateOf({ parts }: BucketParameters, view: BucketView, reach: number): BucketState {
  const { anchor } = view
  const full = view.at + view.ahead
  const lapsesAt = anchor < 0 ? 0 : view.lapsesAt
  const expiresAt = Math.max(full + 1, lapsesAt)
  const isBooked = view.last >= view.now
  const last = isBooked ? view.last : 0
  const low = isBooked ? view.low : 0
  const given = isBooked ? view.given : 0
  const { state, part } = view
  if (state === undefined) return { expiresAt, full, part, parts, reach, anchor, lapsesAt, last, low, given }
  state.gaps = isBooked ? view.gaps : undefined
  state.expiresAt = expiresAt
  state.full = full
  state.part = part
  state.parts = parts
  state.reach = reach
  state.anchor = anchor
  state.lapsesAt = lapsesAt
  state.last = last
  state.low = low
  state.given = given
  return state
}
