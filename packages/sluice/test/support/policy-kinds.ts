import fc from "fast-check"
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  type TokenBucket,
  tokenBucket,
} from "sluice"

/** Every kind of policy. */
export const kinds = [
  "fixedWindow first",
  "fixedWindow clock",
  "slidingLog",
  "slidingWindow",
  "tokenBucket continuous",
  "tokenBucket interval",
  "leakyBucket",
] as const

export type Kind = (typeof kinds)[number]

/** Rates where a rounded interval would be wrong: an amount per milliseconds. */
const awkwardRates: readonly [amount: number, ms: number][] = [
  [1_234_567, 86_400_000],
  [999_983, 30 * 86_400_000],
  [10_000_000, 1_000],
  [700_000, 1_000],
  [3, 7],
  [16, 10_000],
]

const TEN_YEARS = 3_653 * 86_400_000

/** A policy of a kind that admits `amount` per `ms`. A bucket holds `capacity`, a window has `buckets`. */
function make(kind: Kind, amount: number, ms: number, capacity: number, buckets: number): Policy {
  switch (kind) {
    case "fixedWindow first":
      return fixedWindow({ limit: amount, window: ms })
    case "fixedWindow clock":
      return fixedWindow({ limit: amount, window: ms, align: "clock" })
    case "slidingLog":
      return slidingLog({ limit: amount, window: ms })
    case "slidingWindow":
      return slidingWindow({ limit: amount, window: ms, buckets })
    case "tokenBucket continuous":
      return tokenBucket({ capacity, refill: amount, every: ms })
    case "tokenBucket interval":
      return tokenBucket({ capacity, refill: amount, every: ms, mode: "interval" })
    case "leakyBucket":
      return leakyBucket({ capacity, leak: amount, every: ms })
  }
}

const isBucket = (kind: Kind) => kind === "leakyBucket" || kind.startsWith("tokenBucket")

/** The awkward rates as policies of a kind. Buckets have the same, a smaller and a larger capacity. */
export function awkwardPolicies(kind: Kind): Policy[] {
  return awkwardRates.flatMap(([amount, ms]) =>
    isBucket(kind)
      ? [amount, Math.ceil(amount / 3), 2 * amount + 1].map((capacity) => make(kind, amount, ms, capacity, 1))
      : kind === "slidingWindow"
        ? [1, 10, 7].map((buckets) => make(kind, amount, ms, amount, buckets))
        : [make(kind, amount, ms, amount, 1)],
  )
}

/** Buckets that take years to fill. A double for such a time has no digits left for parts of a microsecond. */
export function slowPolicies(kind: Kind): Policy[] {
  if (!isBucket(kind)) return []
  return [make(kind, 101, TEN_YEARS, 97, 1), make(kind, 999_983, TEN_YEARS, 999_979, 1)]
}

const units = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1e12 }) },
)
const duration = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 2_000 }) },
  { weight: 2, arbitrary: fc.constantFrom(10_000, 60_000, 3_600_000, 86_400_000) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: TEN_YEARS }) },
)

const anyBuckets = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 1_000 }))

/** A random policy of a kind. Mostly small, so that it is soon exhausted, sometimes as large as possible. */
export function policyOf(kind: Kind): fc.Arbitrary<Policy> {
  const random = fc
    .tuple(units, duration, units, anyBuckets)
    .filter(([amount, ms, capacity]) => !isBucket(kind) || (capacity / amount) * ms < TEN_YEARS)
    .map(([amount, ms, capacity, buckets]) => make(kind, amount, ms, capacity, buckets))
  return fc.oneof(
    { weight: 6, arbitrary: random },
    { weight: 3, arbitrary: tinyPolicyOf(kind) },
    { weight: 1, arbitrary: fc.constantFrom(...awkwardPolicies(kind), ...slowPolicies(kind)) },
  )
}

/** A random policy of a few units in a few milliseconds, so that two of them share many edges. */
function tinyPolicyOf(kind: Kind): fc.Arbitrary<Policy> {
  const tiny = fc.integer({ min: 1, max: 6 })
  return fc
    .tuple(tiny, fc.integer({ min: 1, max: 12 }), tiny, tiny)
    .map(([amount, ms, capacity, buckets]) => make(kind, amount, ms, capacity, buckets))
}

/** Two random policies that read the same state, the first of them of a kind. */
export function relativesOf(kind: Kind): fc.Arbitrary<[Policy, Policy]> {
  const family = (of: Kind) => of.split(" ")[0]
  const relatives = fc.constantFrom(...kinds.filter((other) => family(other) === family(kind)))
  return relatives.chain((relative) =>
    fc.oneof(
      fc.tuple(policyOf(kind), policyOf(relative)),
      fc.tuple(tinyPolicyOf(kind), tinyPolicyOf(relative)),
    ),
  )
}

/** The most a policy grants at once. */
export function limitOf(policy: Policy): number {
  return "limit" in policy ? policy.limit : policy.capacity
}

/** Microseconds until an unused policy has nothing spent, rounded up. */
export function periodOf(policy: Policy): number {
  if ("window" in policy) return policy.window * 1_000
  const amount = policy.algorithm === "tokenBucket" ? policy.refill : policy.leak
  if (isInterval(policy)) return Math.ceil(policy.capacity / amount) * policy.every * 1_000
  return Number((BigInt(policy.capacity) * BigInt(policy.every) * 1_000n - 1n) / BigInt(amount)) + 1
}

/** Whether a policy is a token bucket that is refilled in steps. */
export function isInterval(policy: Policy): policy is TokenBucket {
  return policy.algorithm === "tokenBucket" && policy.mode === "interval"
}
