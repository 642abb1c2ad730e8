import { type Decision, fixedWindow, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { burst, stores, useRig } from "./rig.js"

// Document 001: a counter that tells its count, a limit per second, a limit per address, and a token
// bucket filled in steps. Refused is -1.
const rig = useRig()

const countOrRefused = ({ allowed, limit, remaining }: Decision) => (allowed ? limit - remaining : -1)
const leftOrRefused = ({ allowed, remaining }: Decision) => (allowed ? remaining : -1)

describe.each(stores)("001 on the %s store", (store) => {
  test("the counter tells how many have passed, or that this one has not", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, fixedWindow({ limit: 3, window: "5s" }), clock)
    const request = async () => countOrRefused(await limiter.tryAcquire("user_id + interface"))
    expect([await request(), await request(), await request(), await request(), await request()]).toEqual([
      1, 2, 3, -1, -1,
    ])
    clock.advance(4_999)
    expect(await request()).toBe(-1)
    clock.advance(1)
    expect([await request(), await request()]).toEqual([1, 2])
  })

  // It is called a leaky bucket, but nothing leaks: a counter with one key per second of the clock.
  test("the limit per second starts over with each second of the clock", async () => {
    const clock = manualClock(1_662_365_045_900)
    const limiter = rig.limiter(store, fixedWindow({ limit: 3, window: "1s", align: "clock" }), clock)
    expect(await burst(() => limiter.tryAcquire("interface"), 5)).toBe(3)
    expect((await limiter.peek("interface")).retryAfter).toBe(100)
    clock.advance(100)
    expect(await burst(() => limiter.tryAcquire("interface"), 5)).toBe(3)
    clock.advance(999)
    expect((await limiter.tryAcquire("interface")).allowed).toBe(false)
  })

  test("the limit per address counts each address for itself, from its first request", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, fixedWindow({ limit: 2, window: "10s" }), clock)
    expect(await burst(() => limiter.tryAcquire("192.0.2.1"), 3)).toBe(2)
    clock.advance(6_000)
    expect(await burst(() => limiter.tryAcquire("2001:db8::1"), 3)).toBe(2)
    clock.advance(4_000)
    expect(await burst(() => limiter.tryAcquire("192.0.2.1"), 3)).toBe(2)
    expect((await limiter.peek("2001:db8::1")).retryAfter).toBe(6_000)
  })

  test("the stepwise token bucket gains its tokens all at once, in steps from first use", async () => {
    const clock = manualClock(1_662_365_047_000)
    const policy = tokenBucket({ capacity: 5, refill: 2, every: "10s", mode: "interval" })
    const limiter = rig.limiter(store, policy, clock)
    const bucket = `steps-${store}`

    /** Asks here and in the document's script, `seconds` after first use. */
    const at = async (seconds: number, times: number) => {
      clock.set(1_662_365_047_000 + seconds * 1_000)
      const left: number[] = []
      const scripted: unknown[] = []
      for (let i = 0; i < times; i += 1) {
        left.push(leftOrRefused(await limiter.tryAcquire("key")))
        scripted.push(await rig.run("001-token-bucket", clock, [bucket], 5, 2, 10, clock() / 1_000))
      }
      expect(left).toEqual(scripted)
      return left
    }

    expect(await at(0, 6)).toEqual([4, 3, 2, 1, 0, -1])
    expect(await at(9, 1)).toEqual([-1])
    expect((await limiter.peek("key")).retryAfter).toBe(1_000)
    expect(await at(10, 3)).toEqual([1, 0, -1])
    expect(await at(35, 1)).toEqual([3]) // the steps at 20 and 30
    expect(await at(40, 1)).toEqual([4]) // and the one at 40, not at 45
    // full since 50, and still in step: the next tokens come at 70, six seconds from here
    expect(await at(64, 6)).toEqual([4, 3, 2, 1, 0, -1])
    expect((await limiter.peek("key")).retryAfter).toBe(6_000)
    expect(await at(69, 1)).toEqual([-1])
    expect(await at(70, 3)).toEqual([1, 0, -1])
  })
})
