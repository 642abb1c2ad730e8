import { fixedWindow, leakyBucket, slidingWindow, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { burst, stores, useRig } from "./rig.js"

// Document 000: four scripts, each called as "100 in 60 s" or "100, and 10 a second".
const rig = useRig()
const start = 1_662_365_045_123

describe.each(stores)("000 on the %s store", (store) => {
  test.each([
    ["fixed window", fixedWindow({ limit: 100, window: "60s" }), 60_000],
    ["sliding window", slidingWindow({ limit: 100, window: "60s", buckets: 30 }), 60_000],
    ["token bucket", tokenBucket({ capacity: 100, refill: 10, every: "1s" }), 100],
    ["leaky bucket", leakyBucket({ capacity: 100, leak: 10, every: "1s" }), 100],
  ])("%s: exactly 100 pass at once, and the 101st is told when it will", async (_, policy, retryAfter) => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, policy, clock)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(100)
    const denial = { allowed: false, limit: 100, remaining: 0, retryAfter }
    expect(await limiter.tryAcquire("user123")).toMatchObject(denial)
    clock.advance(retryAfter - 1)
    expect(await limiter.tryAcquire("user123")).toMatchObject({ allowed: false, retryAfter: 1 })
    clock.advance(1)
    expect((await limiter.tryAcquire("user123")).allowed).toBe(true)
  })

  test("fixed window: the window opens with its first request and ends with all of them", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, fixedWindow({ limit: 100, window: "60s" }), clock)
    expect(await burst(() => limiter.tryAcquire("user123"), 40)).toBe(40)
    clock.advance(59_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(60)
    clock.advance(1_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 150)).toBe(100)
  })

  test("sliding window: what was spent half a minute later comes back half a minute later", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, slidingWindow({ limit: 100, window: "60s", buckets: 30 }), clock)
    expect(await burst(() => limiter.tryAcquire("user123"), 40)).toBe(40)
    clock.advance(30_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(60)
    clock.advance(30_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(40)
    expect((await limiter.peek("user123")).retryAfter).toBe(30_000)
    clock.advance(30_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(60)
  })

  test("sliding window: the requests of one bucket come back together, with the newest of them", async () => {
    const clock = manualClock(1_662_365_044_000)
    const limiter = rig.limiter(store, slidingWindow({ limit: 2, window: "60s", buckets: 30 }), clock)
    const key = `together-${store}`
    const both = async () => {
      const scripted = await rig.run("000-sliding-window", clock, [key], 2, 60, clock() / 1_000, 30)
      return [scripted, (await limiter.tryAcquire("user123")).allowed]
    }
    expect(await both()).toEqual([1, true])
    clock.advance(1_000)
    expect(await both()).toEqual([1, true])
    clock.advance(59_000)
    expect(await both()).toEqual([0, false])
    clock.advance(1_000)
    expect([await both(), await both(), await both()]).toEqual([
      [1, true],
      [1, true],
      [0, false],
    ])
  })

  test("token bucket: ten tokens a second come back, and never more than fit", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, tokenBucket({ capacity: 100, refill: 10, every: "1s" }), clock)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(100)
    clock.advance(1_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(10)
    clock.advance(3_600_000)
    expect(await limiter.peek("user123")).toMatchObject({ remaining: 100, resetAfter: 0 })
    expect(await burst(() => limiter.tryAcquire("user123"), 150)).toBe(100)
  })

  test("leaky bucket: ten requests a second leak out, and an empty bucket stays empty", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, leakyBucket({ capacity: 100, leak: 10, every: "1s" }), clock)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(100)
    expect((await limiter.peek("user123")).resetAfter).toBe(10_000)
    clock.advance(2_500)
    expect(await burst(() => limiter.tryAcquire("user123"), 100)).toBe(25)
    clock.advance(3_600_000)
    expect(await burst(() => limiter.tryAcquire("user123"), 150)).toBe(100)
  })
})
