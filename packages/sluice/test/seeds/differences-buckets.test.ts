import { leakyBucket, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { burst, stores, useRig } from "./rig.js"

// Where the buckets differ from the documents on purpose; docs/seeds.md says why.
const rig = useRig()

describe.each(stores)("buckets on the %s store", (store) => {
  test("a leaky bucket holds its capacity where 000 lets one more in", async () => {
    const clock = manualClock(1_662_365_045_000)
    const limiter = rig.limiter(store, leakyBucket({ capacity: 100, leak: 10, every: "1s" }), clock)
    const script = () => rig.run("000-leaky-bucket", clock, [`more-${store}`], 100, 10, clock() / 1_000)
    expect(await burst(() => limiter.tryAcquire("user"), 150)).toBe(100)
    expect(await burst(script, 150)).toBe(100)
    clock.advance(50) // half a unit has leaked
    expect(await script()).toBe(1)
    expect(Number(await rig.client.hget(`more-${store}`, "level"))).toBeCloseTo(100.5)
    expect(await limiter.tryAcquire("user")).toMatchObject({ allowed: false, remaining: 0, retryAfter: 50 })
  })

  test("a token is there on the dot where 000 is late by a rounding error", async () => {
    const clock = manualClock(1_662_365_045_000)
    const limiter = rig.limiter(store, tokenBucket({ capacity: 1, refill: 10, every: "1s" }), clock)
    const script = () => rig.run("000-token-bucket", clock, [`late-${store}`], 1, 10, clock() / 1_000)
    expect(await script()).toBe(1)
    expect((await limiter.tryAcquire("user")).allowed).toBe(true)
    clock.advance(100) // as seconds, 0.0999999 of one
    expect(await script()).toBe(0)
    expect((await limiter.tryAcquire("user")).allowed).toBe(true)
  })

  test("asking early costs nothing where each early ask makes 003 round once more", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, tokenBucket({ capacity: 1, refill: 10, every: "1s" }), clock)
    const script = () => rig.run("003-token-bucket", clock, [`early-${store}`], 1, 10, 1)
    const both = async () => [await script(), (await limiter.tryAcquire("user")).allowed]
    expect(await both()).toEqual([[1, 0, 0], true])
    for (let asked = 1; asked < 10; asked += 1) {
      clock.advance(10)
      expect(await both()).toEqual([[0, 0, expect.any(Number)], false])
    }
    clock.advance(10) // ten times 0.1 token is 0.9999999999999999
    expect(await both()).toEqual([[0, 0, 1], true])
  })

  test("a clock that goes back and forth grants nothing where 000 refills twice", async () => {
    const clock = manualClock(1_662_365_045_000)
    const limiter = rig.limiter(store, tokenBucket({ capacity: 10, refill: 1, every: "1s" }), clock)
    const script = () => rig.run("000-token-bucket", clock, [`back-${store}`], 10, 1, clock() / 1_000)
    expect(await burst(() => limiter.tryAcquire("user"), 15)).toBe(10)
    expect(await burst(script, 15)).toBe(10)
    clock.advance(-8_000) // another process, whose clock is behind
    expect(await script()).toBe(0)
    expect((await limiter.tryAcquire("user")).allowed).toBe(false)
    clock.advance(8_000)
    expect(await burst(script, 15)).toBe(8)
    expect(await burst(() => limiter.tryAcquire("user"), 15)).toBe(0)
  })

  test("a token comes back within the second where 004 reads whole seconds", async () => {
    const clock = manualClock(Date.parse("2025-03-15T00:17:11+08:00"))
    const limiter = rig.limiter(store, tokenBucket({ capacity: 16, refill: 16, every: "10s" }), clock)
    const script = () =>
      rig.run("004-token-bucket", clock, [`whole-${store}`], 16, 1.6, Math.floor(clock() / 1_000), 1)
    expect(await burst(() => limiter.tryAcquire("user"), 20)).toBe(16)
    expect(await burst(script, 20)).toBe(16)
    clock.advance(625)
    expect(await script()).toBe(0)
    expect((await limiter.tryAcquire("user")).allowed).toBe(true)
  })
})
