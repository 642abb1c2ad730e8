import { randomBytes } from "node:crypto"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { createLimiter, type Policy, SluiceError, slidingLog, tokenBucket } from "sluice"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { flakyStore } from "../support/flaky-store.js"

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** More keys than a process counts during an outage. */
const MANY = 100_000

function inAnOutage(policy: Policy) {
  const { store, baseStore, failWith } = flakyStore()
  const limiter = createLimiter({ policy, store, outage: { then: { local: 1 } } })
  const direct = createLimiter({ policy, store: baseStore })
  failWith(() => new SluiceError("STORE_REFUSED", "connection refused"))
  const spendOnEach = async (keys: number) => {
    for (let i = 0; i < keys; i += 5_000) {
      await Promise.all(Array.from({ length: 5_000 }, (_, j) => limiter.tryAcquire(`junk ${i + j}`)))
    }
  }
  const exhaust = async (key: string) => {
    for (let i = 0; i < 10; i += 1) expect((await limiter.tryAcquire(key)).allowed).toBe(true)
    expect((await limiter.tryAcquire(key)).allowed).toBe(false)
  }
  const recover = async () => {
    failWith()
    await vi.advanceTimersByTimeAsync(300)
    await limiter.peek("somebody")
    expect(limiter.health.reachable).toBe(true)
  }
  return { limiter, direct, spendOnEach, exhaust, recover }
}

describe("after an outage, local spends are charged to the store", () => {
  test("for a key that came after a hundred thousand others", async () => {
    const { limiter, direct, spendOnEach, exhaust, recover } = inAnOutage(
      slidingLog({ limit: 10, window: "1h" }),
    )
    await spendOnEach(MANY)
    await exhaust("late")
    await recover()
    await limiter.tryAcquire("late")
    await vi.advanceTimersByTimeAsync(0)
    expect(await direct.peek("late")).toMatchObject({ allowed: false, remaining: 0 })
  }, 180_000)

  test("for an exhausted key that came before a hundred thousand others", async () => {
    const { limiter, direct, spendOnEach, exhaust, recover } = inAnOutage(
      tokenBucket({ capacity: 10, refill: 10, every: "1h" }),
    )
    await exhaust("early")
    await spendOnEach(MANY + 5_000)
    await recover()
    await limiter.tryAcquire("early")
    await vi.advanceTimersByTimeAsync(0)
    expect(await direct.peek("early")).toMatchObject({ allowed: false, remaining: 0 })
  }, 180_000)
})

test("keys counted during an outage take a bounded amount of memory, however long they are", async () => {
  setFlagsFromString("--expose_gc")
  const collect = runInNewContext("gc") as () => void
  const { limiter } = inAnOutage(tokenBucket({ capacity: 10, refill: 10, every: "1h" }))
  const use = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      await limiter.reserve(randomBytes(10_000).toString("hex"))
    }
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = await use(50)
  // The keys have 20 MB in total.
  const after = await use(1_000)
  expect(after - before).toBeLessThan(5_000_000)
  await limiter.close()
})
