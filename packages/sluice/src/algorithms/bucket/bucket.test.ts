import { describe, expect, test } from "vitest"
import { held as holding } from "../../../test/support/held.js"
import { leakyBucket, type Policy, slidingLog, tokenBucket } from "../../policy.js"
import { bucket } from "./bucket.js"

const now = 1_780_000_000_000_000
const seconds = 1_000_000

const held = (policy: Policy) => holding(bucket, policy)

describe("a token bucket", () => {
  test("starts full, and gains one token per 100 ms at 10 per second", () => {
    const key = held(tokenBucket({ capacity: 3, refill: 10, every: "1s" }))
    expect(key.spend(now, 3)).toMatchObject({ granted: 1, remaining: 0, resetAfter: 300 })
    expect(key.spend(now)).toMatchObject({ granted: 0, retryAfter: 100 })
    expect(key.spend(now + 99_999)).toMatchObject({ granted: 0, retryAfter: 1 })
    expect(key.spend(now + 100_000)).toMatchObject({ granted: 1, remaining: 0 })
  })

  test("stores the time at which it is full again", () => {
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

  test("grants as many requests of a count as fit", () => {
    const key = held(tokenBucket({ capacity: 10, refill: 1, every: "1s" }))
    expect(key.spend(now, 3, 100)).toMatchObject({ granted: 3, remaining: 1 })
    expect(key.spend(now, 3, 100)).toMatchObject({ granted: 0, retryAfter: 2_000 })
  })

  test("converts the fraction of a microsecond that another policy stored", () => {
    const [tens, sevens] = [10_000_000, 7_000_000].map((refill) =>
      tokenBucket({ capacity: 1_000, refill, every: "1s" }),
    )
    const key = held(tens as Policy)
    let granted = 0
    for (let i = 0; i < 2_000; i += 1) granted += key.spend(now, 1, 1, i % 2 === 0 ? tens : sevens).granted
    // A tenth and a seventh of a microsecond alternate, until both capacities, 100 and 142.9 µs, are spent.
    expect(granted).toBeGreaterThan(800)
  })

  test("rounds up a fraction that it cannot represent", () => {
    const key = held(tokenBucket({ capacity: 100, refill: 700_000, every: "1s" }))
    key.spend(now, 1)
    expect(key.state()).toMatchObject({ full: now + 1, part: 3, parts: 7 })
    const whole = tokenBucket({ capacity: 3, refill: 1_000_000, every: "1s" })
    expect(key.spend(now, 2, 1, whole).granted).toBe(0)
    expect(key.spend(now, 1, 1, whole).granted).toBe(1)
    const fine = held(tokenBucket({ capacity: 1_000_000_000, refill: 999_999_999_989, every: "1s" }))
    fine.spend(now)
    const finer = tokenBucket({ capacity: 1_000_000_000, refill: 999_999_999_959, every: "1s" })
    expect(fine.spend(now, 1, 1, finer).granted).toBe(1)
    expect(fine.state()?.full).toBe(now + 1)
  })
})

describe("a token bucket in interval mode", () => {
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

  test("refills units that were spent in continuous mode at its steps", () => {
    const key = held(tokenBucket({ capacity: 10, refill: 10, every: "1s" }))
    key.spend(now, 10)
    const stepwise = tokenBucket({ capacity: 10, refill: 10, every: "1s", mode: "interval" })
    expect(key.spend(now + 400_000, 1, 1, stepwise)).toMatchObject({ granted: 0, retryAfter: 600 })
    expect(key.spend(now + 999_999, 1, 1, stepwise)).toMatchObject({ granted: 0, retryAfter: 1 })
    expect(key.spend(now + 1_000_000, 10, 1, stepwise)).toMatchObject({ granted: 1, remaining: 0 })
  })

  test("keeps its steps beside a continuous policy on the same key", () => {
    const key = held(policy)
    key.spend(now, 5)
    const quick = tokenBucket({ capacity: 100_000, refill: 1_000, every: "1s" })
    expect(key.spend(now + 500_000, 1, 1, quick).granted).toBe(1)
    expect(key.spend(now + 999_999)).toMatchObject({ granted: 0, retryAfter: 1 })
  })

  test("keeps its limit under clock skew, even with a capacity below the refill", () => {
    const key = held(tokenBucket({ capacity: 60, refill: 100, every: "1m", mode: "interval" }))
    let granted = 0
    for (let i = 0; i < 1_000; i += 1) granted += key.spend(now - (i % 2) * 1_000, 60).granted
    expect(granted).toBe(1)
  })

  test("keeps its phase when everything is given back", () => {
    const key = held(policy)
    key.spend(now, 2)
    key.give(now + 100_000, 5)
    key.spend(now + 200_000, 5)
    expect(key.spend(now + 200_000)).toMatchObject({ retryAfter: 800 })
  })
})

test("a leaky bucket is the same bucket, and forgets a key that got everything back", () => {
  const key = held(leakyBucket({ capacity: 10, leak: 5, every: "1s" }))
  expect(key.spend(now, 6).remaining).toBe(4)
  key.give(now, 2)
  expect(key.state()).toMatchObject({ full: now + 800_000 })
  key.give(now, 9)
  expect(key.state()).toBeUndefined()
})

test("a state further ahead than spending can lead counts as spent now", () => {
  const key = held(tokenBucket({ capacity: 10, refill: 10, every: "1s" }))
  key.spend(now, 10)
  expect(key.spend(now - 999 * 1_000)).toMatchObject({ granted: 0, retryAfter: 1_099 })
  expect(key.state()).toMatchObject({ full: now + seconds })
  expect(key.spend(now - 3_600 * seconds)).toMatchObject({ granted: 0 })
  expect(key.state()).toMatchObject({ full: now - 3_599 * seconds })
})

test("other policies are not buckets", () => {
  expect(() => bucket.parameters(slidingLog({ limit: 1, window: 1 }), 1)).toThrow("slidingLog is no bucket")
})
