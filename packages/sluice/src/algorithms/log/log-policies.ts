import type { Duration } from "../../duration.js"
import { type Fields, makePolicy } from "../../policy-fields.js"
import type { AnyAlgorithm, KindsOf } from "../policy-kind.js"
import { log } from "./log.js"

/** At most `limit` units in any span of one window, exactly. */
export interface SlidingLog {
  readonly algorithm: "slidingLog"
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
}

/** At most `limit` units in any span of one window, stored in at most `buckets` + 1 counters. */
export interface SlidingWindow {
  readonly algorithm: "slidingWindow"
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
  readonly buckets: number
}

const logFields: Fields = { limit: "units", window: "duration" }
const windowFields: Fields = { ...logFields, buckets: { most: 1_000, default: 10 } }

/** Stores the time of each grant. Exact in any span of one window, but takes memory per grant. */
export function slidingLog(options: {
  /** The most units in any span of one window. */
  readonly limit: number
  /** How long a unit counts: `"1m"`, or milliseconds. */
  readonly window: Duration
}): SlidingLog {
  return makePolicy("slidingLog", options, logFields)
}

/** A sliding log in little memory. Grants within one sub-window share an entry and expire together. */
export function slidingWindow(options: {
  /** The most units in any span of one window. */
  readonly limit: number
  /** The shortest time for which a unit counts, such as `"1m"`, or milliseconds. */
  readonly window: Duration
  /** The number of sub-windows. A unit counts for up to one sub-window longer than `window`. Default: 10. */
  readonly buckets?: number | undefined
}): SlidingWindow {
  return makePolicy("slidingWindow", options, windowFields)
}

const algorithm = log as AnyAlgorithm

const kinds: KindsOf<SlidingLog | SlidingWindow> = {
  slidingLog: { algorithm, suffix: "sl", fields: logFields, make: slidingLog },
  slidingWindow: { algorithm, suffix: "sw", fields: windowFields, make: slidingWindow },
}

export default kinds
