import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { distantStore, type Errand, soon, whenTold } from "../../test/support/distant-store.js"
import { type World, world } from "../../test/support/world.js"
import { createLimiter } from "../create-limiter.js"
import type { Limiter } from "../limiter.js"
import type { Policies } from "../policies.js"
import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "../policy.js"
import type { PolicyRequest } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"

let here: World
beforeEach(() => {
  here = world()
})
afterEach(() => {
  vi.unstubAllGlobals()
})

const hourly = fixedWindow({ limit: 1_000, window: "1h" })

/** A limiter with leases, its calls to the store, and a limiter directly on the same base store. */
function setUp<P extends Policies>(policy: P, lease: { time?: number; share?: number } | true = true) {
  const baseStore = memoryStore({ clock: here.clock })
  const way = { route: soon as (errand: Errand) => void }
  const store = distantStore(here.clock, (errand) => way.route(errand), baseStore)
  const limiter = createLimiter({ name: "api", policy, store, lease })
  const direct = createLimiter({ name: "api", policy, store: baseStore })
  const blocks = () => store.errands.filter(({ ask: request }) => (request?.count ?? 0) > 1)
  const returned = () =>
    store.errands.filter(({ kind }) => kind === "giveBack").map(({ parts: policies }) => policies)
  return { limiter, direct, store, way, blocks, returned }
}

/** Sends requests until one is decided from a lease. Returns how many were sent. */
async function warmUp(limiter: Limiter, key = "k"): Promise<number> {
  for (let asked = 1; asked < 50; asked += 1) {
    if ((await limiter.tryAcquire(key)).source === "lease") return asked
  }
  throw new Error("nothing was leased")
}

async function sourcesOf(
  limiter: Limiter,
  requests: number,
): Promise<{ lease?: number; [by: string]: number }> {
  const sources: { lease?: number; [by: string]: number } = {}
  for (let i = 0; i < requests; i += 1) {
    const { allowed, source } = await limiter.tryAcquire("k")
    const name = allowed ? source : `denied by ${source}`
    sources[name] = (sources[name] ?? 0) + 1
  }
  return sources
}

const spentOf = async (limiter: Limiter, key = "k") => {
  const { limit, remaining } = await limiter.peek(key)
  return limit - remaining
}

const costs = (policies: readonly PolicyRequest[]) => policies.map(({ cost }) => cost)

const policies: readonly [name: string, policy: Policy][] = [
  ["fixedWindow", hourly],
  ["fixedWindow by the clock", fixedWindow({ limit: 1_000, window: "1h", align: "clock" })],
  ["slidingLog", slidingLog({ limit: 1_000, window: "1h" })],
  ["slidingWindow", slidingWindow({ limit: 1_000, window: "1h" })],
  ["tokenBucket", tokenBucket({ capacity: 1_000, refill: 1_000, every: "1h" })],
  ["tokenBucket by intervals", tokenBucket({ capacity: 1_000, refill: 9, every: "1h", mode: "interval" })],
]

describe.each(policies)("a lease of a %s", (_name, policy) => {
  test("answers what was debited before, to the last unit of the limit", async () => {
    const { limiter, direct, store, returned } = setUp(policy)
    const sources = await sourcesOf(limiter, 1_001)
    expect(sources.lease ?? 0).toBeGreaterThan(900)
    expect(sources["denied by store"]).toBe(1)
    expect(store.asked).toBeLessThan(100)
    expect(returned()).toEqual([])
    expect(await spentOf(direct)).toBe(1_000)
  })

  test("says what remains as if no more than what was admitted were spent", async () => {
    const { limiter } = setUp(policy)
    for (let left = 999; left >= 0; left -= 1) {
      const { remaining, source } = await limiter.tryAcquire("k")
      if (source === "lease") expect(remaining).toBe(left)
      else expect(remaining).toBeLessThanOrEqual(left)
    }
  })

  test("goes back when it is closed, so that what was admitted is all that is spent", async () => {
    const { limiter, direct } = setUp(policy)
    const asked = (await warmUp(limiter)) + 30
    await sourcesOf(limiter, 30)
    expect(await spentOf(direct)).toBeGreaterThan(asked)
    await limiter.close()
    expect(await spentOf(direct)).toBe(asked)
  })

  test("goes back when it is not used for a while, and then nothing is left to do", async () => {
    const { limiter, direct } = setUp(policy)
    await limiter.tryAcquire("k")
    await here.pass(30)
    const asked = 1 + (await warmUp(limiter))
    expect(here.timers).toBe(1)
    await here.pass(70)
    expect(await spentOf(direct)).toBe(asked)
    await here.pass(100)
    expect(here.timers).toBe(0)
  })
})

describe("a block", () => {
  test("is at most a share of what remains, together with what is held already", async () => {
    const { limiter, direct, blocks } = setUp(hourly, { share: 0.2 })
    let admitted = 0
    let taken = 0
    for (let i = 0; i < 1_000; i += 1) {
      const remaining = 1_000 - (await spentOf(direct))
      const held = 1_000 - remaining - admitted
      if ((await limiter.tryAcquire("k")).allowed) admitted += 1
      if (blocks().length === taken) continue
      taken += 1
      const { ask: request } = blocks().at(-1) as Errand
      expect((request?.count ?? 0) + held).toBeLessThanOrEqual(0.2 * remaining + 1)
    }
    expect(taken).toBeGreaterThan(5)
  })

  test("is none near the limit: the last units are asked for one by one", async () => {
    const { limiter } = setUp(fixedWindow({ limit: 19, window: "1h" }))
    expect(await sourcesOf(limiter, 20)).toEqual({ store: 19, "denied by store": 1 })
  })

  test("is none for a while after one was cut short, because others spend as well", async () => {
    const { limiter, direct, blocks } = setUp(tokenBucket({ capacity: 1_000, refill: 2, every: 1 }))
    await limiter.tryAcquire("k")
    await direct.tryAcquire("k", { cost: 995 })
    await limiter.tryAcquire("k")
    expect(blocks().length).toBe(1)
    for (let ms = 1; ms < 100; ms += 1) {
      here.clock.advance(1)
      await limiter.tryAcquire("k")
    }
    expect(blocks().length).toBe(1)
    here.clock.advance(1)
    await warmUp(limiter)
  })

  test("is taken ahead of need: at an even rate nobody waits for the store", async () => {
    const { limiter, way, blocks } = setUp(fixedWindow({ limit: 1_000_000, window: "1h" }))
    way.route = (errand) => here.after(10, errand.answer)
    const sources: string[] = []
    for (let ms = 0; ms < 1_000; ms += 1) {
      for (let i = 0; i < 3; i += 1) limiter.tryAcquire("k").then(({ source }) => sources.push(source))
      await here.pass(1)
    }
    expect(sources.slice(200).every((source) => source === "lease")).toBe(true)
    expect(blocks().length).toBeLessThan(50)
  })

  test("is as large as half a lease time needs", async () => {
    const { limiter, blocks } = setUp(fixedWindow({ limit: 1_000_000, window: "1h" }))
    for (let ms = 0; ms < 1_000; ms += 1) {
      for (let i = 0; i < 4; i += 1) limiter.tryAcquire("k")
      await here.pass(1)
    }
    for (const { ask: request } of blocks().slice(-5)) expect(request?.count).toBeCloseTo(4 * 50, -1)
  })

  test("is not spent when its time is over, and goes back with the next ask", async () => {
    const { limiter, blocks, returned } = setUp(hourly, { time: 100 })
    await warmUp(limiter)
    await here.pass(40)
    // A block that is used now and then is kept. No sweep happens before the next request.
    await limiter.tryAcquire("k")
    here.clock.advance(59)
    expect((await limiter.tryAcquire("k")).source).toBe("lease")
    const before = blocks().length
    here.clock.advance(1)
    const count = blocks()[0]?.ask?.count ?? 0
    expect((await limiter.tryAcquire("k")).source).toBe("store")
    expect(returned().map(costs)).toEqual([[count - 3]])
    expect(blocks().length).toBeGreaterThanOrEqual(before)
  })

  test("of a fixed window is not spent in the next one", async () => {
    const { limiter, direct } = setUp(fixedWindow({ limit: 1_000, window: 30 }), { time: 100 })
    await warmUp(limiter)
    here.clock.advance(29)
    expect((await limiter.tryAcquire("k")).source).toBe("lease")
    here.clock.advance(1)
    expect((await limiter.tryAcquire("k")).source).toBe("store")
    await limiter.close()
    expect(await spentOf(direct)).toBe(1)
  })

  test("that arrives when its time is over goes back at once", async () => {
    const { limiter, direct, way, store } = setUp(hourly)
    await limiter.tryAcquire("k")
    way.route = whenTold
    limiter.tryAcquire("k")
    for (const errand of store.errands) errand.decide()
    here.clock.advance(100)
    way.route = soon
    for (const errand of store.errands) errand.answer()
    await here.pass(0)
    expect(await spentOf(direct)).toBe(2)
  })

  test("is not spent once the clock was set back", async () => {
    const { limiter, direct } = setUp(hourly)
    const asked = await warmUp(limiter)
    here.clock.advance(-1_000)
    expect((await limiter.tryAcquire("k")).source).toBe("store")
    await limiter.close()
    expect(await spentOf(direct)).toBe(asked + 1)
  })
})

describe("a limiter that leases", () => {
  test.each([
    [{ time: 0 }, "lease.time must be whole milliseconds"],
    [{ time: -1 }, "lease.time must be whole milliseconds"],
    [{ time: 1.5 }, "lease.time must be whole milliseconds"],
    [{ time: "soon" }, "lease.time must be whole milliseconds"],
    [{ time: "2m" }, "lease.time must be at most a minute"],
    [{ share: 0 }, "lease.share must be above 0 and at most 1, got 0"],
    [{ share: -1 }, "lease.share must be above 0 and at most 1, got -1"],
    [{ share: 1.5 }, "lease.share must be above 0 and at most 1, got 1.5"],
    [{ share: Number.NaN }, "lease.share must be above 0 and at most 1, got NaN"],
    [{ share: "soon" }, "lease.share must be above 0 and at most 1"],
    [{ size: 5 }, 'lease has no field "size"'],
    ["soon", "lease"],
    [null, "lease"],
  ])("refuses %o", (lease, message) => {
    const make = () => createLimiter({ policy: hourly, lease: lease as never })
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }))
    expect(make).toThrow(message)
  })

  test("leases nothing when told not to", async () => {
    const limiter = createLimiter({ policy: hourly, lease: false })
    expect(await sourcesOf(limiter, 100)).toEqual({ store: 100 })
  })

  test("refuses a leaky bucket, at once or in the call that brings it", async () => {
    const leaky = leakyBucket({ capacity: 10, leak: 1, every: 1 })
    const refused = expect.objectContaining({ code: "INVALID_POLICY" })
    expect(() => createLimiter({ policy: leaky, lease: true })).toThrow(refused)
    expect(() => createLimiter({ policy: { a: hourly, b: leaky }, lease: { share: 0.5 } })).toThrow(refused)
    const limiter = createLimiter({ policy: hourly, lease: true })
    await expect(limiter.tryAcquire("k", { policy: leaky as never })).rejects.toThrow(refused)
    const byKey = createLimiter({ policy: () => leaky, lease: true })
    await expect(byKey.tryAcquire("k")).rejects.toThrow(refused)
  })
})
