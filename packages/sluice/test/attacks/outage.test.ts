import { createLimiter, fixedWindow, SluiceError, slidingLog, tokenBucket } from "sluice"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { flakyStore } from "../support/flaky-store.js"

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

const gone = () => new SluiceError("STORE_REFUSED", "connection refused")

describe("a denial under `then: closed` in an outage", () => {
  test.each([
    ["fixedWindow", fixedWindow({ limit: 100, window: "1h" })],
    ["slidingLog", slidingLog({ limit: 100, window: "1h" })],
    ["tokenBucket", tokenBucket({ capacity: 100, refill: 1, every: "1s" })],
  ])("reports 0 remaining and the time of the next probe (%s)", async (_, policy) => {
    const { store, failWith } = flakyStore()
    const limiter = createLimiter({ policy, store, outage: { then: "closed" } })
    failWith(gone)
    for (let i = 0; i < 5; i += 1) {
      expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, remaining: 0, limit: 100 })
    }
    expect(limiter.health.reachable).toBe(false)
    const denial = await limiter.tryAcquire("k")
    expect(denial).toMatchObject({ allowed: false, remaining: 0, limit: 100, degraded: true })
    expect(denial.resetAfter).toBe(denial.retryAfter)
    failWith()
    await vi.advanceTimersByTimeAsync(denial.retryAfter)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, degraded: false })
  })

  test("reports it for each of several policies, and an infinite wait for a cost that never passes", async () => {
    const { store, failWith } = flakyStore()
    const policy = {
      burst: tokenBucket({ capacity: 10, refill: 1, every: "1s" }),
      daily: fixedWindow({ limit: 1_000, window: "1d" }),
    }
    const limiter = createLimiter({ policy, store, outage: { then: "closed" } })
    failWith(gone)
    const denial = await limiter.tryAcquire("k")
    expect(denial.policies).toMatchObject([
      { policy: "burst", allowed: false, limit: 10, window: 10_000, remaining: 0 },
      { policy: "daily", allowed: false, limit: 1_000, window: 86_400_000, remaining: 0 },
    ])
    expect(await limiter.tryAcquire("k", { cost: { burst: 11 } })).toMatchObject({
      policy: "burst",
      retryAfter: Number.POSITIVE_INFINITY,
    })
  })
})

describe("an error that concerns one request", () => {
  /** Errors of a server that cannot write, and the error of this library for one request too many. */
  const causes = [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    "NOREPLICAS Not enough good replicas to write.",
    "CROWDED 100000 requests wait",
  ]
  const policy = fixedWindow({ limit: 10, window: "1h" })

  test.each(causes)("does not let exhausted keys pass under `then: open`: %s", async (message) => {
    const { store, failWith } = flakyStore()
    const limiter = createLimiter({ policy, store, outage: { then: "open" } })
    await limiter.tryAcquire("exhausted", { cost: 10 })
    const refused = () => new SluiceError("STORE_REFUSED", "refused", { cause: new Error(message) })
    failWith((request) => (request?.policies.some(({ key }) => key !== "exhausted") ? refused() : undefined))
    for (let i = 0; i < 1_000; i += 1) {
      // The fallback decides the request itself.
      expect(await limiter.tryAcquire(`junk ${i}`)).toMatchObject({ allowed: true, degraded: true })
      if (i % 100 === 99) {
        expect(await limiter.tryAcquire("exhausted")).toMatchObject({ allowed: false, degraded: false })
        await vi.advanceTimersByTimeAsync(1_000)
      }
    }
    expect(limiter.health).toEqual({ reachable: true, degraded: 1_000 })
  })

  test("does not count as a probe if the request was never sent", async () => {
    const { store, failWith } = flakyStore()
    const limiter = createLimiter({ policy, store, outage: { then: "closed" } })
    failWith(gone)
    for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("k")
    expect(limiter.health.reachable).toBe(false)
    failWith(
      () => new SluiceError("STORE_REFUSED", "refused", { cause: new Error("CROWDED 100000 requests wait") }),
    )
    await vi.advanceTimersByTimeAsync(200)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, degraded: true })
    expect(limiter.health.reachable).toBe(false)
    failWith()
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, degraded: false })
  })
})
