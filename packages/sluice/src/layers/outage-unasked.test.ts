import { type Ask, createLimiter, fixedWindow, memoryStore, SluiceError, type Store } from "sluice"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { denyCache } from "./deny-cache.js"
import { leases } from "./lease.js"
import { outage } from "./outage.js"
import type { OutageChange, OutageOptions } from "./outage-terms.js"

/** A limiter of one an hour on a store that can be out of reach, with a key of which nothing is left. */
async function setUp(options: OutageOptions = {}) {
  const ledger = memoryStore()
  let isOut = false
  const asked: string[] = []
  /** Asks of the deny cache, which a shortcut does not make. */
  const cacheAsked = vi.fn()
  const watched = (inner: Store) => {
    const cache = denyCache(inner)
    const { ask } = cache
    return Object.assign(cache, {
      ask(asked: Ask) {
        cacheAsked()
        return ask(asked)
      },
    })
  }
  const store: Store = {
    ...ledger,
    async ask(ask) {
      asked.push(ask.mode === "charge" ? "charge" : String(ask.parts[0]?.key))
      if (isOut) throw new SluiceError("STORE_REFUSED", "connection refused")
      return ledger.ask(ask)
    },
    layers: { denyCache: watched, leases, outage },
  }
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
  return { limiter, changes, asked, cacheAsked, setOut }
}

/** What is remembered of a key, by an ask that is made and by one that needs none. */
const ways = { "a shortcut": undefined, "an ask": { cost: 1 } }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe.each(Object.entries(ways))("a denial that is remembered, by %s", (_name, options) => {
  test("does not keep the store from being given up", async () => {
    const { limiter, setOut } = await setUp()
    setOut(true)
    for (let i = 0; i < 5; i += 1) {
      for (let j = 0; j < 3; j += 1) {
        expect(await limiter.tryAcquire("spent", options)).toMatchObject({ allowed: false, source: "cache" })
      }
      await expect(limiter.tryAcquire(`k${i}`)).rejects.toMatchObject({ code: "STORE_REFUSED" })
    }
    expect(limiter.health.reachable).toBe(false)
  })

  test("does not say that the store is back, and whoever asks next looks", async () => {
    const { limiter, changes, asked, setOut } = await setUp()
    setOut(true)
    for (let i = 0; i < 5; i += 1) await limiter.tryAcquire(`k${i}`).catch(() => {})
    await expect(limiter.tryAcquire("spent", options)).rejects.toMatchObject({ code: "STORE_REFUSED" })
    vi.advanceTimersByTime(130)
    expect(await limiter.tryAcquire("spent", options)).toMatchObject({ source: "cache" })
    expect(limiter.health.reachable).toBe(false)
    expect(changes).toHaveLength(1)
    setOut(false)
    asked.length = 0
    expect(await limiter.tryAcquire("other")).toMatchObject({ allowed: true })
    expect(asked).toEqual(["other"])
    expect(changes.map(({ reachable }) => reachable)).toEqual([false, true])
  })
})

test("a store that is back is told what was spent without it before a denial is remembered", async () => {
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

test("what is owed for one key keeps nobody else from a shortcut", async () => {
  const { limiter, cacheAsked, setOut } = await setUp({ then: { local: 1 } })
  setOut(true)
  expect(await limiter.tryAcquire("seen once")).toMatchObject({ source: "fallback" })
  setOut(false)
  await limiter.tryAcquire("other")
  cacheAsked.mockClear()
  expect(await limiter.tryAcquire("spent")).toMatchObject({ allowed: false, source: "cache" })
  expect(cacheAsked).not.toHaveBeenCalled()
})
