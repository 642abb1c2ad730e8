import type { Duration } from "../../duration.js"
import { type Fields, makePolicy } from "../../policy-fields.js"
import type { AnyAlgorithm, KindsOf } from "../policy-kind.js"
import { fixedWindow as steps } from "./fixed-window.js"

/** At most `limit` units in each window of time. */
export interface FixedWindow {
  readonly algorithm: "fixedWindow"
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
  /** `"first"`: a window opens with its first use. `"clock"`: windows are cut at multiples of their length. */
  readonly align: "first" | "clock"
}

const fields: Fields = { limit: "units", window: "duration", align: ["first", "clock"] }

/** Counts in windows that do not overlap. Cheap, but admits up to twice the limit around the end of a window. */
export function fixedWindow(options: {
  /** The most units in one window. */
  readonly limit: number
  /** The length of a window, such as `"1m"`, or milliseconds. */
  readonly window: Duration
  /** `"first"`: a window starts with its first use. `"clock"`: at multiples of its length. Default: `"first"`. */
  readonly align?: "first" | "clock" | undefined
}): FixedWindow {
  return makePolicy("fixedWindow", options, fields)
}

const kinds: KindsOf<FixedWindow> = {
  fixedWindow: { algorithm: steps as AnyAlgorithm, suffix: "fw", fields, make: fixedWindow },
}

export default kinds
