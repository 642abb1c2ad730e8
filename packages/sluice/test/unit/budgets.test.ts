import fc from "fast-check"
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"

/** Ten units per second under each kind of policy. */
const policies: [string, Policy][] = [
  ["fixedWindow", fixedWindow({ limit: 10, window: "1s" })],
  ["fixedWindow by the clock", fixedWindow({ limit: 10, window: "1s", align: "clock" })],
  ["slidingLog", slidingLog({ limit: 10, window: "1s" })],
  ["slidingWindow", slidingWindow({ limit: 10, window: "1s" })],
  ["tokenBucket", tokenBucket({ capacity: 10, refill: 10, every: "1s" })],
  ["tokenBucket in steps", tokenBucket({ capacity: 10, refill: 10, every: "1s", mode: "interval" })],
  ["leakyBucket", leakyBucket({ capacity: 10, leak: 10, every: "1s" })],
]

const rigged = (policy: Policy, maxWait = 1) => {
  const clock = manualClock()
  return { clock, limiter: createLimiter({ policy, maxWait, store: memoryStore({ clock }) }) }
}

describe.each(policies)("a budget under %s works as documented", (_, policy) => {
  test("however much is charged, a cost of 1 passes again within maxWait and two periods", async () => {
    const charge = fc.record({
      cost: fc.integer({ min: 1, max: 50 }),
      after: fc.nat(300),
      waiters: fc.nat(4),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(charge), fc.constantFrom(1, 500, 5_000), async (history, maxWait) => {
        const { clock, limiter } = rigged(policy, maxWait)
        for (const { cost, after, waiters } of history) {
          clock.advance(after)
          for (let i = 0; i < waiters; i += 1) limiter.acquire("key").catch(() => {})
          expect((await limiter.charge("key", cost)).retryAfter).toBeLessThanOrEqual(maxWait + 2_000)
        }
        await limiter.close()
      }),
    )
  })

  test("a charge counts at most twice the limit", async () => {
    const waits = await Promise.all(
      [20, 21, 1e9].map(async (cost) => (await rigged(policy).limiter.charge("key", cost)).retryAfter),
    )
    expect(new Set(waits)).toHaveProperty("size", 1)
    expect((await rigged(policy).limiter.charge("key", 15)).retryAfter).toBeLessThanOrEqual(Number(waits[0]))
  })

  test("a reservation is settled once, by any process, and keeps its estimate until then", async () => {
    const { clock, limiter } = rigged(policy)
    const { id } = await limiter.reserve("key", { cost: 8 })
    expect(await limiter.peek("key")).toMatchObject({ remaining: 2 })
    expect(await limiter.reservation("key", id).settle(3)).toBe(true)
    expect(await limiter.peek("key")).toMatchObject({ remaining: 7 })
    expect(await limiter.reservation("key", id).settle(1)).toBe(false)
    expect(await limiter.reservation("key", id).cancel()).toBe(false)
    expect(await limiter.peek("key")).toMatchObject({ remaining: 7 })
    const late = await limiter.reserve("key", { cost: 7, ttl: 50 })
    clock.advance(50)
    expect(await late.cancel()).toBe(false)
    expect(await limiter.peek("key")).toMatchObject({ remaining: 0 })
  })

  test("units that have left the window are not given back", async () => {
    const { clock, limiter } = rigged(policy)
    const { cancel } = await limiter.reserve("key", { cost: 10 })
    clock.advance(1_000)
    await limiter.tryAcquire("key", { cost: 10 })
    expect(await cancel()).toBe(true)
    expect(await limiter.peek("key")).toMatchObject({ remaining: 0 })
  })
})
