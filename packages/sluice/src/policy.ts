import { divide } from "./divide.js"
import { type Duration, LONGEST_MS, milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { shared } from "./shared.js"

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

/** At most `limit` units in any span of one window, stored in at most `buckets` + 1 counters. */
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

/** A rate limit as a plain frozen object, made by one of the five functions named like its `algorithm`. */
export type Policy = FixedWindow | SlidingLog | SlidingWindow | TokenBucket | LeakyBucket

/** The most units that a policy counts: 10¹². */
export const MOST_UNITS = 1e12
const MOST_BUCKETS = 1_000

/** Counts in windows that do not overlap. Cheap, but admits up to twice the limit around the end of a window. */
export function fixedWindow(options: {
  /** The most units in one window. */
  readonly limit: number
  /** The length of a window, such as `"1m"`, or milliseconds. */
  readonly window: Duration
  /** `"first"`: a window starts with its first use. `"clock"`: at multiples of its length. Default: `"first"`. */
  readonly align?: "first" | "clock" | undefined
}): FixedWindow {
  return made<FixedWindow>("fixedWindow", options, {
    limit: units,
    window: milliseconds,
    align: oneOf("first", "clock"),
  })
}

/** Stores the time of each grant. Exact in any span of one window, but takes memory per grant. */
export function slidingLog(options: {
  /** The most units in any span of one window. */
  readonly limit: number
  /** How long a unit counts: `"1m"`, or milliseconds. */
  readonly window: Duration
}): SlidingLog {
  return made<SlidingLog>("slidingLog", options, { limit: units, window: milliseconds })
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
  return made<SlidingWindow>("slidingWindow", options, { limit: units, window: milliseconds, buckets })
}

/** Allows bursts of up to `capacity`, and limits the long-term rate to that of the refill. */
export function tokenBucket(options: {
  /** The most tokens in the bucket, which is the largest burst. */
  readonly capacity: number
  /** How many tokens are added per `every`. */
  readonly refill: number
  /** The time in which `refill` tokens are added, such as `"1s"`, or milliseconds. */
  readonly every: Duration
  /** `"continuous"`: tokens come one by one. `"interval"`: all at once after every interval. Default: `"continuous"`. */
  readonly mode?: "continuous" | "interval" | undefined
}): TokenBucket {
  const policy = made<TokenBucket>("tokenBucket", options, {
    capacity: units,
    refill: units,
    every: milliseconds,
    mode: oneOf("continuous", "interval"),
  })
  checkTimeToFill(policy.capacity, policy.refill, policy.every)
  return policy
}

/** For `acquire`, a queue with an even outflow. For `tryAcquire`, a meter that denies when it is full. */
export function leakyBucket(options: {
  /** The most units in the bucket: that many pass at once, or wait for their turn. */
  readonly capacity: number
  /** How many units leak out per `every`. */
  readonly leak: number
  /** The time in which `leak` units leak out, such as `"1s"`, or milliseconds. */
  readonly every: Duration
}): LeakyBucket {
  const policy = made<LeakyBucket>("leakyBucket", options, {
    capacity: units,
    leak: units,
    every: milliseconds,
  })
  checkTimeToFill(policy.capacity, policy.leak, policy.every)
  return policy
}

const factories = { fixedWindow, slidingLog, slidingWindow, tokenBucket, leakyBucket } satisfies Record<
  Policy["algorithm"],
  unknown
>
const checked = shared("checked-policies", () => new WeakSet<object>())

/** Whether a value is meant as a single policy. In a record of policies, `algorithm` is not a string. */
export function looksLikePolicy(value: unknown): value is Policy {
  return (
    typeof value === "object" && value !== null && "algorithm" in value && typeof value.algorithm === "string"
  )
}

/** Returns a policy of a factory unchanged. Validates any other object, such as parsed JSON, by the same rules. */
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

/** The window of a policy in milliseconds. For a bucket, the time from empty to full, rounded up. */
export function windowOf(policy: Policy): number {
  if ("window" in policy) return policy.window
  const { capacity, every } = policy
  if (policy.algorithm === "leakyBucket") return divideUp(capacity, every, policy.leak)
  if (policy.mode === "interval") return Math.ceil(capacity / policy.refill) * every
  return divideUp(capacity, every, policy.refill)
}

/** `a × b / c`, rounded up, exactly. */
function divideUp(a: number, b: number, c: number): number {
  const [whole, rest] = divide(a, b, c)
  return rest > 0 ? whole + 1 : whole
}

/** Whether two policies are equal. */
export function samePolicy(a: Policy, b: Policy): boolean {
  if (a === b) return true
  const fields = Object.keys(a) as (keyof Policy)[]
  return fields.length === Object.keys(b).length && fields.every((field) => a[field] === b[field])
}

/** Checks an option and returns its value in the policy, which is the default if it is left out. */
type Check = (value: unknown, name: string) => unknown

/** Makes a policy from options, with a check for each. Other options are refused. */
function made<P extends Policy>(
  algorithm: P["algorithm"],
  options: object,
  checks: Record<string, Check>,
): P {
  checkFields("INVALID_POLICY", algorithm, options, Object.keys(checks))
  const policy: Record<string, unknown> = { algorithm }
  for (const [name, check] of Object.entries(checks)) {
    policy[name] = check((options as Record<string, unknown>)[name], name)
  }
  checked.add(policy)
  return Object.freeze(policy) as unknown as P
}

function units(value: unknown, name: string): number {
  return integer(value, name, MOST_UNITS, MOST_UNITS.toExponential())
}

function buckets(value: unknown = 10, name: string): number {
  return integer(value, name, MOST_BUCKETS)
}

function integer(value: unknown, name: string, most: number, shownMost = `${most}`): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw invalid(`${name} must be an integer from 1 to ${shownMost}, got ${shown(value)}`)
}

/** Allows some strings. The first is the default. */
function oneOf(...choices: string[]): Check {
  return (value = choices[0], name) => {
    if (choices.includes(value as string)) return value
    throw invalid(`${name} must be one of ${choices.map(shown).join(", ")}, got ${shown(value)}`)
  }
}

function checkTimeToFill(capacity: number, amount: number, every: number): void {
  if (BigInt(capacity) * BigInt(every) > BigInt(LONGEST_MS) * BigInt(amount)) {
    throw invalid(`${capacity} units at ${amount} every ${every} ms take more than ten years`)
  }
}

function invalid(message: string): SluiceError {
  return new SluiceError("INVALID_POLICY", message)
}
