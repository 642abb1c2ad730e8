import { createLimiter, fixedWindow, memoryStore, SluiceError, type Store } from "sluice"
import { afterEach, expect, test, vi } from "vitest"
import type { OutageChange } from "./outage-options.js"

afterEach(() => vi.restoreAllMocks())

/** A store of several shards, each for the keys that start with its letter. */
function setUp(onChange: (change: OutageChange) => void) {
  const baseStore = memoryStore()
  const missing = new Set<string>()
  const partOf = ({ key }: { key: string }) => key[0] ?? ""
  const store: Store = {
    ...baseStore,
    async decide(request) {
      if (request.policies.some((policy) => missing.has(partOf(policy))))
        throw new SluiceError("STORE_REFUSED", "gone")
      return baseStore.decide(request)
    },
    remote: true,
    denyCache: false,
    shardOf: ([first]) => partOf(first ?? { key: "" }),
  }
  const policy = fixedWindow({ limit: 1_000, window: "1h" })
  const limiter = createLimiter({ policy, store, outage: { then: "closed", onChange } })
  const requests = (key: string) => Promise.all(Array.from({ length: 20 }, () => limiter.tryAcquire(key)))
  return { limiter, missing, asks: requests }
}

test("a failing shard opens only its own circuit, and onChange is called once for several shards", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout"] })
  const changes: OutageChange[] = []
  const { limiter, missing, asks: requests } = setUp((change) => changes.push(change))
  missing.add("a").add("b")
  for (const key of ["a", "b"]) {
    expect((await requests(key)).every(({ allowed, degraded }) => !allowed && degraded)).toBe(true)
  }
  expect((await requests("c")).every(({ allowed, degraded }) => allowed && !degraded)).toBe(true)
  expect(limiter.health).toEqual({ reachable: false, degraded: 40 })
  expect(changes).toMatchObject([{ reachable: false, error: { message: "gone" } }])
  missing.clear()
  await vi.advanceTimersByTimeAsync(130)
  expect((await requests("a")).at(-1)).toMatchObject({ degraded: true })
  expect((await requests("a")).at(-1)).toMatchObject({ degraded: false })
  expect(limiter.health.reachable).toBe(false)
  await requests("b")
  expect(limiter.health.reachable).toBe(true)
  expect(changes).toHaveLength(2)
  vi.useRealTimers()
})

test("failures of one shard still count after the circuit of another shard has closed", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout"] })
  const changes: boolean[] = []
  const { limiter, missing, asks: requests } = setUp(({ reachable }) => changes.push(reachable))
  missing.add("a").add("b")
  await requests("a")
  for (let i = 0; i < 4; i += 1) await limiter.tryAcquire("b")
  missing.delete("a")
  await vi.advanceTimersByTimeAsync(130)
  await requests("a")
  expect(changes).toEqual([false, true])
  // The fifth failure of "b" in a row opens its circuit.
  await limiter.tryAcquire("b")
  expect(changes).toEqual([false, true, false])
  vi.useRealTimers()
})

test("an onChange that throws does not fail the decision", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
  const { missing, asks: requests } = setUp(() => {
    throw new Error("no pager")
  })
  missing.add("a")
  expect(await requests("a")).toHaveLength(20)
  expect(warned).toHaveBeenCalledOnce()
  expect(warned.mock.calls[0]?.[0]).toContain("no pager")
})
