import {
  combine,
  createLimiter,
  fixedWindow,
  memoryStore,
  SluiceError,
  type Store,
  slidingLog,
  tokenBucket,
} from "sluice"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { withLayers } from "./compose.js"
import { outage } from "./outage.js"
import type { OutageChange, OutageOptions } from "./outage-options.js"

const policy = fixedWindow({ limit: 4, window: "1h" })

/** A remote store that replies, delays its replies, or refuses. */
function setUp(options: OutageOptions, limits = {}) {
  const baseStore = memoryStore()
  let state: "answers" | "hangs" | "refuses" = "answers"
  const held: (() => void)[] = []
  let asked = 0
  const reach = <T>(run: () => T): Promise<T> => {
    asked += 1
    const value = state === "refuses" ? undefined : { it: run() }
    return new Promise((resolve, reject) => {
      if (value === undefined) reject(new SluiceError("STORE_REFUSED", "connection refused"))
      else if (state === "hangs") held.push(() => resolve(value.it))
      else resolve(value.it)
    })
  }
  const store: Store = withLayers(
    {
      decide: (request) => reach(() => baseStore.decide(request)),
      giveBack: (policies, at) => reach(() => baseStore.giveBack(policies, at)),
      leave: (turn) => reach(() => baseStore.leave(turn)),
      settle: (settlement) => reach(() => baseStore.settle(settlement)),
      forget: (stateRefs) => reach(() => baseStore.forget(stateRefs)),
    },
    { outage },
  )
  const changes: OutageChange[] = []
  const limiter = createLimiter({
    policy,
    store,
    outage: { deadline: 50, onChange: (change) => changes.push(change), ...options },
    ...limits,
  })
  const direct = createLimiter({ policy, store: baseStore })
  return {
    limiter,
    ledger: baseStore,
    direct,
    changes,
    set: (to: typeof state) => {
      state = to
    },
    release: () => {
      for (const each of held.splice(0)) each()
    },
    asked: () => asked,
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Waits for a promise, after advancing the fake timers. */
async function after<T>(ms: number, wait: Promise<T>): Promise<T> {
  wait.catch(() => {})
  await vi.advanceTimersByTimeAsync(ms)
  return wait
}

describe("a request without a reply before the deadline", () => {
  test("rejects as unknown, and its grant is given back when the late reply arrives", async () => {
    const { limiter, direct, set, release } = setUp({ then: "throw" })
    set("hangs")
    const asked = limiter.tryAcquire("k")
    await expect(after(50, asked)).rejects.toMatchObject({
      code: "STORE_UNKNOWN",
      message: "no answer from the store within 50 ms; the call may have run",
    })
    expect(await direct.peek("k")).toMatchObject({ remaining: 3 })
    set("answers")
    release()
    await vi.advanceTimersByTimeAsync(1)
    expect(await direct.peek("k")).toMatchObject({ remaining: 4 })
  })

  test("does not reject a millisecond before the deadline", async () => {
    const { limiter, set, release } = setUp({ then: "throw" })
    set("hangs")
    const asked = limiter.tryAcquire("k")
    await vi.advanceTimersByTimeAsync(49)
    release()
    expect(await asked).toMatchObject({ allowed: true, degraded: false, source: "store" })
  })

  test("passes under open, and the decision says degraded", async () => {
    const { limiter, direct, set, release } = setUp({ then: "open" })
    set("hangs")
    const decision = await after(50, limiter.tryAcquire("k"))
    expect(decision).toMatchObject({
      allowed: true,
      degraded: true,
      source: "fallback",
      remaining: 4,
      limit: 4,
    })
    expect(limiter.health).toEqual({ reachable: true, degraded: 1 })
    // The request passed, so its grant stays spent.
    release()
    await vi.advanceTimersByTimeAsync(1)
    expect(await direct.peek("k")).toMatchObject({ remaining: 3 })
  })

  test("is denied under closed, with the time until the next probe", async () => {
    const { limiter, set } = setUp({ then: "closed" })
    set("hangs")
    const decision = await after(50, limiter.tryAcquire("k"))
    expect(decision).toMatchObject({ allowed: false, degraded: true, source: "fallback" })
    expect(decision.retryAfter).toBeGreaterThan(0)
    await expect(after(50, limiter.acquire("k"))).rejects.toMatchObject({
      code: "STORE_REFUSED",
      message: "the store does not answer, so there is no turn; retry later",
    })
  })

  test("is counted in the process under local, with its share of the policy", async () => {
    const { limiter, set } = setUp({ then: { local: 0.5 } })
    set("refuses")
    const decisions = await Promise.all([1, 2, 3].map(() => limiter.tryAcquire("k")))
    expect(decisions.map(({ allowed, limit, remaining }) => [allowed, limit, remaining])).toEqual([
      [true, 2, 1],
      [true, 2, 0],
      [false, 2, 0],
    ])
    expect(decisions[2]).toMatchObject({ degraded: true, source: "fallback", retryAfter: 3_600_000 })
    expect(limiter.health.degraded).toBe(3)
  })

  test("that is invalid is not an outage", async () => {
    const { limiter } = setUp({ then: "open" })
    await expect(limiter.tryAcquire("k", { cost: -1 })).rejects.toMatchObject({ code: "INVALID_COST" })
    await expect(limiter.tryAcquire("")).rejects.toMatchObject({ code: "INVALID_KEY" })
  })
})

describe("a store that does not reply", () => {
  test("gets only probes, and onChange is called once per change", async () => {
    const { limiter, changes, set, asked } = setUp({ then: "open" })
    set("refuses")
    for (let i = 0; i < 100; i += 1) await limiter.tryAcquire("k")
    expect(asked()).toBe(5)
    expect(limiter.health).toEqual({ reachable: false, degraded: 100 })
    expect(changes).toMatchObject([{ reachable: false, error: { code: "STORE_REFUSED" } }])
    await vi.advanceTimersByTimeAsync(130)
    for (let i = 0; i < 100; i += 1) await limiter.tryAcquire("k")
    expect(asked()).toBe(6)
    set("answers")
    await vi.advanceTimersByTimeAsync(260)
    expect(await limiter.tryAcquire("k")).toMatchObject({ degraded: false, source: "store" })
    expect(changes).toMatchObject([{ reachable: false }, { reachable: true }])
    expect(limiter.health.reachable).toBe(true)
  })

  test("is charged for local spends once it replies again", async () => {
    const { limiter, direct, set } = setUp({ then: { local: 0.5 } })
    await limiter.tryAcquire("k")
    set("refuses")
    for (let i = 0; i < 10; i += 1) await limiter.tryAcquire("k")
    set("answers")
    await vi.advanceTimersByTimeAsync(130)
    // One request probes the store. Then the two units admitted locally are charged.
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, remaining: 2, source: "store" })
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, remaining: 0, source: "store" })
    expect(await direct.peek("k")).toMatchObject({ remaining: 0 })
    await limiter.reset("k")
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, remaining: 3 })
  })

  test("is charged for the local spends of several keys, whichever key is requested first", async () => {
    const { limiter, direct, set } = setUp({ then: { local: 0.5 } })
    const both = combine([limiter.on("k"), limiter.on("l")])
    set("refuses")
    expect(await both.tryAcquire()).toMatchObject({ allowed: true, degraded: true })
    set("answers")
    for (let i = 0; i < 2; i += 1) await after(200, limiter.tryAcquire("k"))
    expect(await direct.peek("k")).toMatchObject({ remaining: 1 })
    await after(0, limiter.tryAcquire("l"))
    expect(await direct.peek("l")).toMatchObject({ remaining: 2 })
  })

  test("is charged for local spends under several policies, whichever policy is requested first", async () => {
    const policies = { requests: policy, tokens: fixedWindow({ limit: 40, window: "1h" }) }
    const { limiter, set } = setUp({ then: { local: 0.5 } }, { policy: policies })
    set("refuses")
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, degraded: true })
    set("answers")
    // A request that skips a policy pays nothing under it.
    for (let i = 0; i < 2; i += 1)
      await after(200, limiter.tryAcquire("k", { cost: { tokens: 0 } as object }))
    await after(0, limiter.tryAcquire("k"))
    const { policies: told } = await limiter.peek("k")
    expect(told).toMatchObject([{ remaining: 0 }, { remaining: 38 }])
  })

  test("is charged for local spends under another algorithm of the same name", async () => {
    const { limiter, direct, set } = setUp({ then: { local: 1 } })
    const log = slidingLog({ limit: 4, window: "1h" })
    set("refuses")
    for (let i = 0; i < 4; i += 1) await limiter.tryAcquire("k", { policy: log })
    await limiter.tryAcquire("k")
    set("answers")
    for (let i = 0; i < 3; i += 1) await after(200, limiter.tryAcquire("k"))
    await vi.advanceTimersByTimeAsync(1)
    expect(await direct.peek("k", { policy: log })).toMatchObject({ remaining: 0 })
  })

  test("is charged again if it refused the charge, and then no more", async () => {
    const { limiter, direct, set } = setUp({ then: { local: 0.5 } })
    set("refuses")
    await limiter.tryAcquire("k")
    await limiter.tryAcquire("k")
    set("answers")
    await limiter.tryAcquire("other")
    // The store replies for one key, and fails when it is charged for the other.
    set("refuses")
    await limiter.tryAcquire("k")
    set("answers")
    await limiter.tryAcquire("other")
    await limiter.tryAcquire("k")
    await vi.advanceTimersByTimeAsync(1)
    expect(await direct.peek("k")).toMatchObject({ remaining: 1 })
  })

  test("is charged for local debt and for locally booked turns", async () => {
    const bucket = tokenBucket({ capacity: 10, refill: 10, every: 1_000 })
    const {
      limiter,
      ledger: baseStore,
      set,
    } = setUp({ then: { local: 0.5 } }, { policy: bucket, name: "waits" })
    const inFull = createLimiter({ policy: bucket, name: "waits", store: baseStore })
    set("refuses")
    await limiter.charge("owed", 9)
    const waits = Array.from({ length: 40 }, () => limiter.acquire("k"))
    await vi.advanceTimersByTimeAsync(0)
    set("answers")
    await vi.advanceTimersByTimeAsync(150)
    for (const key of ["other", "k", "owed"]) await limiter.peek(key)
    await vi.advanceTimersByTimeAsync(0)
    // 40 units minus those that have come back meanwhile, 10 per second.
    const { retryAfter } = await inFull.peek("k", { cost: 10 })
    expect(retryAfter).toBeGreaterThan(3_700)
    expect(retryAfter).toBeLessThanOrEqual(4_000)
    expect((await inFull.peek("owed", { cost: 10 })).retryAfter).toBeGreaterThan(700)
    await vi.advanceTimersByTimeAsync(8_000)
    await Promise.all(waits)
  })

  test("makes refunds and resets reject, because they did not happen", async () => {
    const { limiter, set } = setUp({ then: "open" })
    set("hangs")
    await expect(after(50, limiter.refund("k", 1))).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    set("refuses")
    await expect(limiter.reset("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
  })

  test.each(["open", "closed"] as const)("makes charge reject under %j", async (then) => {
    const { limiter, direct, set } = setUp({ then })
    set("refuses")
    await expect(limiter.charge("k", 3)).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect(limiter.health.degraded).toBe(0)
    set("answers")
    await limiter.charge("k", 3)
    expect(await direct.peek("k")).toMatchObject({ remaining: 1 })
  })

  test("a failed reset clears no local state, and a successful one does", async () => {
    const { limiter, direct, set } = setUp({ then: { local: 0.5 } })
    set("refuses")
    const request = async () => (await limiter.tryAcquire("k")).allowed
    expect([await request(), await request(), await request()]).toEqual([true, true, false])
    await expect(limiter.reset("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect(await request()).toBe(false)
    set("answers")
    // After the store recovered, nothing is owed for reset keys.
    await vi.advanceTimersByTimeAsync(200)
    await limiter.reset("k")
    await limiter.tryAcquire("k")
    await limiter.tryAcquire("k")
    await vi.advanceTimersByTimeAsync(1)
    expect(await direct.peek("k")).toMatchObject({ remaining: 2 })
  })

  test("is not called to give back a turn that was booked locally", async () => {
    const bucket = { policy: tokenBucket({ capacity: 2, refill: 1, every: 1_000 }), name: "waits" }
    const { limiter, set, asked } = setUp({ then: { local: 0.5 } }, bucket)
    set("refuses")
    for (let i = 0; i < 6; i += 1) await limiter.tryAcquire("other")
    const before = asked()
    const gaveUp = new AbortController()
    expect(await limiter.acquire("k")).toMatchObject({ degraded: true })
    const waits = limiter.acquire("k", { signal: gaveUp.signal })
    waits.catch(() => {})
    await vi.advanceTimersByTimeAsync(10)
    gaveUp.abort("no")
    await expect(waits).rejects.toBe("no")
    const again = limiter.acquire("k")
    await vi.advanceTimersByTimeAsync(1_990)
    expect(await again).toMatchObject({ degraded: true })
    expect(asked() - before).toBeLessThanOrEqual(1)
  })

  test("leaves reservations to the process, which settles them", async () => {
    const { limiter, set } = setUp({ then: { local: 1 } })
    set("refuses")
    const { decision, settle } = await limiter.reserve("k", { cost: 4 })
    expect(decision).toMatchObject({ allowed: true, degraded: true, remaining: 0 })
    expect(await settle(1)).toBe(true)
    expect(await limiter.peek("k")).toMatchObject({ remaining: 3, degraded: true })
  })

  test("local reservations are settled where their units count: locally, or in the store after the charge", async () => {
    const { limiter, direct, set } = setUp({ then: { local: 1 } })
    set("refuses")
    const [cancelled, exact, costlier] = await Promise.all([
      limiter.reserve("k", { cost: 1 }),
      limiter.reserve("k", { cost: 1 }),
      limiter.reserve("k", { cost: 2 }),
    ])
    set("answers")
    await vi.advanceTimersByTimeAsync(200)
    for (let i = 0; i < 2; i += 1) await after(0, limiter.peek("k"))
    expect(await direct.peek("k")).toMatchObject({ remaining: 0 })
    expect(await cancelled.cancel()).toBe(true)
    expect(await cancelled.cancel()).toBe(false)
    expect(await direct.peek("k")).toMatchObject({ remaining: 1 })
    expect(await exact.settle(1)).toBe(true)
    expect(await costlier.settle(3)).toBe(true)
    await after(0, limiter.peek("k"))
    expect(await direct.peek("k")).toMatchObject({ remaining: 0 })
  })
})

describe("a reservation or a turn that is granted after the deadline", () => {
  test("is given back", async () => {
    const { limiter, direct, set, release } = setUp({ then: "closed" })
    set("hangs")
    expect((await after(50, limiter.reserve("k", { cost: 2 }))).decision).toMatchObject({ allowed: false })
    await expect(after(50, limiter.acquire("k"))).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect(await direct.peek("k")).toMatchObject({ remaining: 1 })
    set("answers")
    release()
    await vi.advanceTimersByTimeAsync(1)
    expect(await direct.peek("k")).toMatchObject({ remaining: 4 })
  })
})

test.each([
  [{ deadline: 0 }, "outage.deadline must be whole milliseconds"],
  [{ deadline: "2m" }, "outage.deadline must be at most a minute"],
  [{ then: "ajar" }, 'outage.then must be "open", "closed", "throw" or { local: share }, got "ajar"'],
  [{ then: null }, "outage.then must be"],
  [{ then: { local: 0 } }, "outage.then.local must be above 0 and at most 1, got 0"],
  [{ then: { local: "half" } }, "outage.then.local must be above 0"],
  [{ then: { share: 1 } }, 'outage.then has no field "share"'],
  [{ onChange: 1 }, "outage.onChange must be a function"],
  [{ after: 1 }, 'outage has no field "after"'],
])("createLimiter rejects the outage option %o, whatever its store", (options, message) => {
  expect(() => createLimiter({ policy, outage: options as OutageOptions })).toThrow(message)
})
