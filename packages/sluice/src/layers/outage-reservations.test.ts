import {
  createLimiter,
  fixedWindow,
  memoryStore,
  type Policies,
  SluiceError,
  type Store,
  slidingLog,
  tokenBucket,
} from "sluice"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { withLayers } from "./compose.js"
import { outage } from "./outage.js"

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A remote store that can refuse or lose some kinds of calls, or delay charges. */
function setUp(policy: Policies) {
  const baseStore = memoryStore()
  const fault = { refuses: [] as string[], loses: [] as string[], holdsCharges: false }
  const held: (() => void)[] = []
  const reach = <T>(kind: string, run: () => T): Promise<T> => {
    if (fault.refuses.includes(kind) || fault.refuses.includes("all")) {
      return Promise.reject(new SluiceError("STORE_REFUSED", "connection refused"))
    }
    if (fault.loses.includes(kind)) return Promise.reject(new SluiceError("STORE_UNKNOWN", "lost"))
    const value = run()
    if (kind !== "charge" || !fault.holdsCharges) return Promise.resolve(value)
    return new Promise((resolve) => held.push(() => resolve(value)))
  }
  const store: Store = withLayers(
    {
      decide: (request) => reach(request.mode, () => baseStore.decide(request)),
      giveBack: (policies, at) => reach("giveBack", () => baseStore.giveBack(policies, at)),
      leave: (turn) => reach("leave", () => baseStore.leave(turn)),
      settle: (settlement) => reach("settle", () => baseStore.settle(settlement)),
      forget: (stateRefs) => reach("forget", () => baseStore.forget(stateRefs)),
    },
    { outage },
  )
  const limiter = createLimiter({ policy, store, outage: { deadline: 50, then: { local: 1 } } })
  const direct = createLimiter({ policy, store: baseStore })
  const remaining = async () => (await direct.peek("k")).remaining
  /** Lets the store recover, and be charged for local spends. */
  const recover = async () => {
    fault.refuses = []
    await vi.advanceTimersByTimeAsync(300)
    for (let i = 0; i < 2; i += 1) await limiter.peek("k")
    await vi.advanceTimersByTimeAsync(0)
  }
  return { limiter, direct, fault, held, remaining, recover }
}

describe("a reservation made during an outage", () => {
  test("gives back no more of a bucket than still counted when the store was charged", async () => {
    const { limiter, direct, fault, remaining, recover } = setUp(
      tokenBucket({ capacity: 10, refill: 1, every: "1s" }),
    )
    fault.refuses = ["all"]
    const { cancel } = await limiter.reserve("k", { cost: 6 })
    await vi.advanceTimersByTimeAsync(4_000)
    await limiter.tryAcquire("k", { cost: 5 })
    await recover()
    // 11 minus 4 that have come back.
    expect(await remaining()).toBe(3)
    await direct.tryAcquire("k", { cost: 3 })
    expect(await cancel()).toBe(true)
    expect(await remaining()).toBe(2)
  })

  test.each([slidingLog({ limit: 10, window: "1s" }), fixedWindow({ limit: 10, window: "1s" })])(
    "gives back nothing that had left the window before the store was charged: %o",
    async (policy) => {
      const { limiter, direct, fault, remaining, recover } = setUp(policy)
      fault.refuses = ["all"]
      const { cancel } = await limiter.reserve("k", { cost: 10 })
      await vi.advanceTimersByTimeAsync(30_000)
      await limiter.tryAcquire("k")
      await recover()
      await direct.tryAcquire("k", { cost: 9 })
      expect(await cancel()).toBe(true)
      expect(await remaining()).toBe(0)
    },
  )

  const hourly = fixedWindow({ limit: 10, window: "1h" })

  test("gives back nothing after a reset", async () => {
    const { limiter, fault, remaining, recover } = setUp(hourly)
    fault.refuses = ["all"]
    const { cancel } = await limiter.reserve("k", { cost: 10 })
    fault.refuses = []
    await vi.advanceTimersByTimeAsync(300)
    await limiter.reset("k")
    fault.refuses = ["all"]
    for (let i = 0; i < 10; i += 1) await limiter.tryAcquire("k")
    await recover()
    expect(await cancel()).toBe(true)
    expect(await remaining()).toBe(0)
  })

  test("gives back nothing of a charge that was in flight when it was made", async () => {
    const { limiter, direct, fault, held, remaining } = setUp(hourly)
    fault.refuses = ["all"]
    await limiter.tryAcquire("k")
    fault.refuses = []
    fault.holdsCharges = true
    await vi.advanceTimersByTimeAsync(300)
    for (let i = 0; i < 2; i += 1) await limiter.peek("k")
    fault.refuses = ["all"]
    const { cancel, decision } = await limiter.reserve("k", { cost: 5 })
    expect(decision.degraded).toBe(true)
    expect(held).toHaveLength(1)
    held[0]?.()
    await vi.advanceTimersByTimeAsync(0)
    await direct.tryAcquire("k", { cost: 9 })
    fault.refuses = []
    await vi.advanceTimersByTimeAsync(300)
    expect(await cancel()).toBe(true)
    expect(await remaining()).toBe(0)
  })

  describe.each([
    hourly,
    slidingLog({ limit: 10, window: "1h" }),
    tokenBucket({ capacity: 10, refill: 1, every: "1h" }),
  ])("under %o", (policy) => {
    test("gives back its charge after a second outage", async () => {
      const { limiter, fault, remaining, recover } = setUp(policy)
      fault.refuses = ["all"]
      const { cancel } = await limiter.reserve("k", { cost: 5 })
      await recover()
      fault.refuses = ["all"]
      await limiter.tryAcquire("k")
      await recover()
      expect(await remaining()).toBe(4)
      expect(await cancel()).toBe(true)
      expect(await remaining()).toBeGreaterThanOrEqual(8)
      expect(await remaining()).toBeLessThanOrEqual(9)
    })

    test("gives back nothing locally, in a second outage, of what the store was charged for or what was reset", async () => {
      for (const isReset of [false, true]) {
        const { limiter, fault, remaining, recover } = setUp(policy)
        fault.refuses = ["all"]
        const { cancel } = await limiter.reserve("k", { cost: 5 })
        await recover()
        if (isReset) await limiter.reset("k")
        fault.refuses = ["all"]
        for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("k")
        await recover()
        expect(await remaining()).toBe(isReset ? 5 : 0)
        await cancel()
        expect(await remaining()).toBeLessThanOrEqual(5)
      }
    })

    test("gives back nothing if the outcome of the charge is unknown", async () => {
      const { limiter, fault, recover } = setUp(policy)
      fault.refuses = ["all"]
      const { cancel } = await limiter.reserve("k", { cost: 5 })
      fault.loses = ["charge"]
      await recover()
      fault.refuses = ["all"]
      let admitted = 0
      const spendAll = async () => {
        while ((await limiter.tryAcquire("k")).allowed) admitted += 1
      }
      await spendAll()
      await cancel()
      await spendAll()
      expect(admitted).toBe(10)
    })
  })

  test("is settled in part if the outcome of the rest is unknown", async () => {
    const policies = { a: hourly, b: fixedWindow({ limit: 100, window: "1h" }) }
    const { limiter, direct, fault, recover } = setUp(policies)
    fault.refuses = ["all"]
    const { settle } = await limiter.reserve("k", { cost: { a: 5, b: 5 } })
    await recover()
    fault.loses = ["giveBack"]
    await expect(settle({ a: 1, b: 25 })).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    fault.loses = []
    expect(await settle({ a: 1, b: 25 })).toBe(false)
    await recover()
    const { policies: told = [] } = await direct.peek("k")
    expect(told.map((policy) => policy.remaining)).toEqual([5, 75])
  })

  test("can be settled again if the store refuses, and gives back under each policy once", async () => {
    const policies = { a: hourly, b: fixedWindow({ limit: 10, window: "1h" }) }
    const { limiter, direct, fault, recover } = setUp(policies)
    const all = async () => (await direct.peek("k")).policies?.map((policy) => policy.remaining)
    fault.refuses = ["all"]
    const { settle, cancel } = await limiter.reserve("k", { cost: { a: 5, b: 5 } })
    await recover()
    expect(await all()).toEqual([5, 5])
    fault.refuses = ["giveBack"]
    await expect(settle({ a: 1, b: 1 })).rejects.toMatchObject({ code: "STORE_REFUSED" })
    // The circuit is open until a probe.
    fault.refuses = ["all"]
    for (let i = 0; i < 6; i += 1) await limiter.tryAcquire("other")
    fault.refuses = []
    await vi.advanceTimersByTimeAsync(300)
    expect(await settle({ a: 1, b: 1 })).toBe(true)
    expect(await all()).toEqual([9, 9])
    expect(await cancel()).toBe(false)
  })

  test("cannot be settled after its ttl", async () => {
    const { limiter, fault, remaining, recover } = setUp(hourly)
    fault.refuses = ["all"]
    const { cancel } = await limiter.reserve("k", { cost: 5, ttl: "1s" })
    await recover()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await cancel()).toBe(false)
    expect(await remaining()).toBe(5)
  })
})
