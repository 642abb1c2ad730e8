import { type Duration, LONGEST_MS } from "../../duration.js"
import { type Fields, invalidPolicy, makePolicy } from "../../policy-fields.js"
import type { AnyAlgorithm, KindsOf } from "../policy-kind.js"
import { bucket } from "./bucket.js"

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

const tokenFields: Fields = {
  capacity: "units",
  refill: "units",
  every: "duration",
  mode: ["continuous", "interval"],
}
const leakyFields: Fields = { capacity: "units", leak: "units", every: "duration" }

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
  const policy = makePolicy<TokenBucket>("tokenBucket", options, tokenFields)
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
  const policy = makePolicy<LeakyBucket>("leakyBucket", options, leakyFields)
  checkTimeToFill(policy.capacity, policy.leak, policy.every)
  return policy
}

function checkTimeToFill(capacity: number, amount: number, every: number): void {
  if (BigInt(capacity) * BigInt(every) > BigInt(LONGEST_MS) * BigInt(amount)) {
    throw invalidPolicy(`${capacity} units at ${amount} every ${every} ms take more than ten years`)
  }
}

const algorithm = bucket as AnyAlgorithm

const kinds: KindsOf<TokenBucket | LeakyBucket> = {
  tokenBucket: { algorithm, suffix: "tb", fields: tokenFields, make: tokenBucket },
  leakyBucket: { algorithm, suffix: "lb", fields: leakyFields, make: leakyBucket },
}

export default kinds
