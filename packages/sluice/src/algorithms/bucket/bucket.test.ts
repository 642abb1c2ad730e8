import { describe, expect, test } from "vitest"
import { held as holding } from "../../../test/support/held.js"
import { leakyBucket, type Policy, slidingLog, tokenBucket } from "../../policy.js"
import { bucket } from "./bucket.js"

const now = 1_780_000_000_000_000
const seconds = 1_000_000

const held = (policy: Policy) => holding(bucket, policy)

describe("a token bucket", () => {
  test("starts full, and gains a token every tenth of a second at 10 a second", () => {
    const key = held(tokenBucket({ capacity: 3, refill: 10, every: "1s" }))
    expect(key.spend(now, 3)).toMatchObject({ granted: 1, remaining: 0, resetAfter: 300 })
    expect(key.spend(now)).toMatchObject({ granted: 0, retryAfter: 100 })
    expect(key.spend(now + 99_999)).toMatchObject({ granted: 0, retryAfter: 1 })
    expect(key.spend(now + 100_000)).toMatchObject({ granted: 1, remaining: 0 })
  })

  test("keeps its state as the instant at which it is full again", () => {
    const key = held(tokenBucket({ capacity: 100, refill: 10, every: "1s" }))
    key.spend(now, 60)
    expect(key.state()).toMatchObject({ full: now + 6 * seconds, part: 0 })
    expect(key.spend(now, 1, 1, tokenBucket({ capacity: 200, refill: 20, every: "1s" })).remaining).toBe(79)
  })

  test("counts fractions of a microsecond exactly: seven units take ten microseconds", () => {
    const key = held(tokenBucket({ capacity: 7, refill: 700_000, every: "1s" }))
    expect(key.spend(now, 1, 7).granted).toBe(7)
    expect(key.state()).toMatchObject({ full: now + 10, part: 0, parts: 7 })
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((us) => key.spend(now + us, 1, 7).granted)).toEqual([
      0, 1, 1, 0, 1, 1, 0, 1, 1, 1,
    ])
  })

  test("grants as many of a count as fit", () => {
    const key = held(tokenBucket({ capacity: 10, refill: 1, every: "1s" }))
    expect(key.spend(now, 3, 100)).toMatchObject({ granted: 3, remaining: 1 })
    expect(key.spend(now, 3, 100)).toMatchObject({ granted: 0, retryAfter: 2_000 })
  })

  test("rounds up what another policy left of a microsecond", () => {
    const key = held(tokenBucket({ capacity: 100, refill: 700_000, every: "1s" }))
    key.spend(now, 1)
    expect(key.state()).toMatchObject({ full: now + 1, part: 3, parts: 7 })
    const slower = tokenBucket({ capacity: 3, refill: 1_000_000, every: "1s" })
    expect(key.spend(now, 2, 1, slower).granted).toBe(0)
    expect(key.spend(now, 1, 1, slower).granted).toBe(1)
  })
})

describe("a token bucket by intervals", () => {
  const policy = tokenBucket({ capacity: 5, refill: 2, every: "1s", mode: "interval" })

  test("gains its tokens at steps counted from first use", () => {
    const key = held(policy)
    expect(key.spend(now, 5)).toMatchObject({ granted: 1, remaining: 0, resetAfter: 3_000 })
    expect(key.spend(now + 999_999)).toMatchObject({ granted: 0, retryAfter: 1 })
    expect(key.spend(now + 1_500_000)).toMatchObject({ granted: 1, remaining: 1 })
    expect(key.spend(now + 1_500_000, 3)).toMatchObject({ granted: 0, retryAfter: 500, resetAfter: 1_500 })
  })

  test("keeps its phase through a full bucket until capacity / refill steps after the last grant", () => {
    const key = held(policy)
    key.spend(now, 2)
    expect(key.spend(now + 2_900_000, 5)).toMatchObject({ granted: 1, remaining: 0 })
    expect(key.spend(now + 2_900_000)).toMatchObject({ retryAfter: 100 })
    const other = held(policy)
    other.spend(now, 2)
    other.spend(now + 3_000_001, 5)
    expect(other.spend(now + 3_000_001)).toMatchObject({ retryAfter: 1_000 })
  })

  test("keeps its phase when all is given back", () => {
    const key = held(policy)
    key.spend(now, 2)
    key.give(now + 100_000, 5)
    key.spend(now + 200_000, 5)
    expect(key.spend(now + 200_000)).toMatchObject({ retryAfter: 800 })
  })
})

test("a leaky bucket is the same bucket, and forgets what was given back", () => {
  const key = held(leakyBucket({ capacity: 10, leak: 5, every: "1s" }))
  expect(key.spend(now, 6).remaining).toBe(4)
  key.give(now, 2)
  expect(key.state()).toMatchObject({ full: now + 800_000 })
  key.give(now, 9)
  expect(key.state()).toBeUndefined()
})

test("a state further ahead than spending leads counts as spent now", () => {
  const key = held(tokenBucket({ capacity: 10, refill: 10, every: "1s" }))
  key.spend(now, 10)
  expect(key.spend(now - 999 * 1_000)).toMatchObject({ granted: 0, retryAfter: 1_099 })
  expect(key.state()).toMatchObject({ full: now + seconds })
  expect(key.spend(now - 3_600 * seconds)).toMatchObject({ granted: 0 })
  expect(key.state()).toMatchObject({ full: now - 3_600 * seconds + 1_001_000 })
})

test("other policies are no buckets", () => {
  expect(() => bucket.terms(slidingLog({ limit: 1, window: 1 }), 1)).toThrow("slidingLog is no bucket")
})
