import { type Duration, LONGEST_MS, milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"

/** At most `limit` units in each window of time. */
export interface FixedWindow {
  readonly algorithm: "fixedWindow"
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
  /** `"first"`: a window opens with its first use. `"clock"`: windows are cut at multiples of their length. */
  readonly align: "first" | "clock"
}

/** At most `limit` units in any span of one window, exactly. */
export interface SlidingLog {
  readonly algorithm: "slidingLog"
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
}

/** At most `limit` units in any span of one window, remembered in at most `buckets` + 1 counters. */
export interface SlidingWindow {
  readonly algorithm: "slidingWindow"
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
  readonly buckets: number
}

/** A bucket of `capacity` tokens that gains `refill` tokens every `every`. */
export interface TokenBucket {
  readonly algorithm: "tokenBucket"
  readonly capacity: number
  readonly refill: number
  /** Milliseconds. */
  readonly every: number
  /** `"continuous"`: tokens drip in one by one. `"interval"`: `refill` of them at once, every `every`. */
  readonly mode: "continuous" | "interval"
}

/** A bucket that holds `capacity` units and loses `leak` of them every `every`. */
export interface LeakyBucket {
  readonly algorithm: "leakyBucket"
  readonly capacity: number
  readonly leak: number
  /** Milliseconds. */
  readonly every: number
}

/** A rule: a plain frozen value, made by one of the five functions named like its `algorithm`. */
export type Policy = FixedWindow | SlidingLog | SlidingWindow | TokenBucket | LeakyBucket

/** A million million: the most units a policy counts. */
export const MOST_UNITS = 1e12
const MOST_BUCKETS = 1_000

/** Counts in windows that do not overlap: cheap, and admits up to twice the limit across an edge. */
export function fixedWindow(options: {
  /** The most units in one window. */
  readonly limit: number
  /** How long a window lasts: `"1m"`, or milliseconds. */
  readonly window: Duration
  /** Whether a window opens with its first use, which is what is done if left out, or is cut at multiples of its length. */
  readonly align?: "first" | "clock" | undefined
}): FixedWindow {
  checkFields("INVALID_POLICY", "fixedWindow", options, ["limit", "window", "align"])
  const { limit, window, align = "first" } = options
  return made({
    algorithm: "fixedWindow",
    limit: units(limit, "limit"),
    window: milliseconds(window, "window"),
    align: oneOf(align, "align", ["first", "clock"]),
  })
}

/** Remembers when each unit was spent: exact in every span, at the price of memory per grant. */
export function slidingLog(options: {
  /** The most units in any span of one window. */
  readonly limit: number
  /** How long a unit counts: `"1m"`, or milliseconds. */
  readonly window: Duration
}): SlidingLog {
  checkFields("INVALID_POLICY", "slidingLog", options, ["limit", "window"])
  return made({
    algorithm: "slidingLog",
    limit: units(options.limit, "limit"),
    window: milliseconds(options.window, "window"),
  })
}

/** The sliding log in little memory: grants of one sub-window share an entry and leave together. */
export function slidingWindow(options: {
  /** The most units in any span of one window. */
  readonly limit: number
  /** How long a unit counts at the least: `"1m"`, or milliseconds. */
  readonly window: Duration
  /** How many sub-windows it has: a unit counts for up to one of them longer. 10 if left out. */
  readonly buckets?: number | undefined
}): SlidingWindow {
  checkFields("INVALID_POLICY", "slidingWindow", options, ["limit", "window", "buckets"])
  const { limit, window, buckets = 10 } = options
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > MOST_BUCKETS) {
    throw invalid(`buckets must be an integer from 1 to ${MOST_BUCKETS}, got ${shown(buckets)}`)
  }
  return made({
    algorithm: "slidingWindow",
    limit: units(limit, "limit"),
    window: milliseconds(window, "window"),
    buckets,
  })
}

/** Lets bursts of up to `capacity` through and holds the long run to the rate of refill. */
export function tokenBucket(options: {
  /** How many tokens it holds: the most that pass at once. */
  readonly capacity: number
  /** How many tokens come `every` so often. */
  readonly refill: number
  /** How long `refill` tokens take to come: `"1s"`, or milliseconds. */
  readonly every: Duration
  /** Whether they drip in one by one, which is what is done if left out, or come all at once. */
  readonly mode?: "continuous" | "interval" | undefined
}): TokenBucket {
  checkFields("INVALID_POLICY", "tokenBucket", options, ["capacity", "refill", "every", "mode"])
  const { mode = "continuous" } = options
  const capacity = units(options.capacity, "capacity")
  const refill = units(options.refill, "refill")
  const every = milliseconds(options.every, "every")
  checkTimeToFill(capacity, refill, every)
  return made({
    algorithm: "tokenBucket",
    capacity,
    refill,
    every,
    mode: oneOf(mode, "mode", ["continuous", "interval"]),
  })
}

/** A meter for asking, a queue with an even outflow for waiting. */
export function leakyBucket(options: {
  /** How many units it holds: the most that pass at once, or wait for their turn. */
  readonly capacity: number
  /** How many units leak out `every` so often. */
  readonly leak: number
  /** How long `leak` units take to leak out: `"1s"`, or milliseconds. */
  readonly every: Duration
}): LeakyBucket {
  checkFields("INVALID_POLICY", "leakyBucket", options, ["capacity", "leak", "every"])
  const capacity = units(options.capacity, "capacity")
  const leak = units(options.leak, "leak")
  const every = milliseconds(options.every, "every")
  checkTimeToFill(capacity, leak, every)
  return made({ algorithm: "leakyBucket", capacity, leak, every })
}

const factories = { fixedWindow, slidingLog, slidingWindow, tokenBucket, leakyBucket }
const checked = new WeakSet<object>()

/** Whether a value claims to be one policy; a record of policies has no string under `algorithm`. */
export function looksLikePolicy(value: unknown): value is Policy {
  return (
    typeof value === "object" && value !== null && "algorithm" in value && typeof value.algorithm === "string"
  )
}

/** Takes what a factory made as it is, and validates a look-alike (a parsed JSON file, say) by the same rules. */
export function checkPolicy(value: unknown): Policy {
  if (!looksLikePolicy(value)) {
    throw invalid(`a policy is made by ${Object.keys(factories).join(", ")}; got ${shown(value)}`)
  }
  if (checked.has(value)) return value
  if (!Object.hasOwn(factories, value.algorithm)) {
    throw invalid(
      `algorithm must be one of ${Object.keys(factories).join(", ")}, got ${shown(value.algorithm)}`,
    )
  }
  const { algorithm, ...parameters } = value
  return (factories[algorithm] as (parameters: object) => Policy)(parameters)
}

/** The most that a policy ever grants at once. */
export function limitOf(policy: Policy): number {
  return "limit" in policy ? policy.limit : policy.capacity
}

/** Whether two policies say the same. */
export function samePolicy(a: Policy, b: Policy): boolean {
  if (a === b) return true
  const fields = Object.keys(a) as (keyof Policy)[]
  return fields.length === Object.keys(b).length && fields.every((field) => a[field] === b[field])
}

function made<P extends Policy>(policy: P): P {
  checked.add(policy)
  return Object.freeze(policy)
}

function units(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > MOST_UNITS) {
    throw invalid(`${name} must be an integer from 1 to ${MOST_UNITS.toExponential()}, got ${shown(value)}`)
  }
  return value
}

function oneOf<T extends string>(value: T, name: string, choices: readonly T[]): T {
  if (choices.includes(value)) return value
  throw invalid(`${name} must be one of ${choices.map(shown).join(", ")}, got ${shown(value)}`)
}

function checkTimeToFill(capacity: number, amount: number, every: number): void {
  if (BigInt(capacity) * BigInt(every) > BigInt(LONGEST_MS) * BigInt(amount)) {
    throw invalid(
      `${capacity} units at ${amount} every ${every} ms take more than ten years, too long to count exactly in microseconds`,
    )
  }
}

function invalid(message: string): SluiceError {
  return new SluiceError("INVALID_POLICY", message)
}
