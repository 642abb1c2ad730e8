import { createLimiter, fixedWindow, memoryStore, SluiceError, type Store } from "sluice"
import type { StoreRequest } from "sluice/store"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { withLayers } from "./compose.js"
import { denyCache } from "./deny-cache.js"
import { leases } from "./lease.js"
import { outage } from "./outage.js"
import type { OutageChange, OutageOptions } from "./outage-options.js"

/** A limiter of one per hour on a store that can be unreachable, with an exhausted key. */
async function setUp(options: OutageOptions = {}) {
  const baseStore = memoryStore()
  let isOut = false
  const asked: string[] = []
  const store: Store = withLayers(
    {
      ...baseStore,
      async decide(request: StoreRequest) {
        asked.push(request.mode === "charge" ? "charge" : String(request.policies[0]?.key))
        if (isOut) throw new SluiceError("STORE_REFUSED", "connection refused")
        return baseStore.decide(request)
      },
    },
    { denyCache, leases, outage },
  )
  const changes: OutageChange[] = []
  const limiter = createLimiter({
    policy: fixedWindow({ limit: 1, window: "1h" }),
    store,
    outage: { then: "throw", onChange: (change) => changes.push(change), ...options },
  })
  await limiter.tryAcquire("spent")
  await limiter.tryAcquire("spent")
  asked.length = 0
  const setOut = (to: boolean) => {
    isOut = to
  }
  return { limiter, changes, asked, setOut }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe("a cached denial", () => {
  test("does not keep the circuit breaker from opening", async () => {
    const { limiter, setOut } = await setUp()
    setOut(true)
    for (let i = 0; i < 5; i += 1) {
      for (let j = 0; j < 3; j += 1) {
        expect(await limiter.tryAcquire("spent")).toMatchObject({ allowed: false, source: "cache" })
      }
      await expect(limiter.tryAcquire(`k${i}`)).rejects.toMatchObject({ code: "STORE_REFUSED" })
    }
    expect(limiter.health.reachable).toBe(false)
  })

  test("does not close the circuit breaker, and the next request probes the store", async () => {
    const { limiter, changes, asked, setOut } = await setUp()
    setOut(true)
    for (let i = 0; i < 5; i += 1) await limiter.tryAcquire(`k${i}`).catch(() => {})
    await expect(limiter.tryAcquire("spent")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    vi.advanceTimersByTime(130)
    expect(await limiter.tryAcquire("spent")).toMatchObject({ source: "cache" })
    expect(limiter.health.reachable).toBe(false)
    expect(changes).toHaveLength(1)
    setOut(false)
    asked.length = 0
    expect(await limiter.tryAcquire("other")).toMatchObject({ allowed: true })
    expect(asked).toEqual(["other"])
    expect(changes.map(({ reachable }) => reachable)).toEqual([false, true])
  })
})

test("a store that replies again is charged for local spends before a denial is cached", async () => {
  const { limiter, asked, setOut } = await setUp({ then: { local: 1 } })
  setOut(true)
  for (let i = 0; i < 5; i += 1) await limiter.tryAcquire(`k${i}`).catch(() => {})
  expect(await limiter.tryAcquire("spent")).toMatchObject({ allowed: true, source: "fallback" })
  setOut(false)
  vi.advanceTimersByTime(130)
  await limiter.tryAcquire("other")
  asked.length = 0
  expect(await limiter.tryAcquire("spent")).toMatchObject({ allowed: false })
  expect(asked).toContain("charge")
})
