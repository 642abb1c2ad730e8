import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { distantStore, type Errand, soon, whenTold } from "../../test/support/distant-store.js"
import { type World, world } from "../../test/support/world.js"
import { createLimiter } from "../create-limiter.js"
import { SluiceError } from "../errors.js"
import type { Limiter } from "../limiter.js"
import type { Policies } from "../policies.js"
import { fixedWindow, slidingLog, tokenBucket } from "../policy.js"
import type { Store } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { withLayers } from "./compose.js"
import { leases } from "./lease.js"

let here: World
beforeEach(() => {
  here = world()
})
afterEach(() => {
  vi.unstubAllGlobals()
})

const hourly = fixedWindow({ limit: 1_000, window: "1h" })

function setUp<P extends Policies>(policy: P, lease: { share?: number } | true = true) {
  const baseStore = memoryStore({ clock: here.clock })
  const way = { route: soon as (errand: Errand) => void }
  const store = distantStore(here.clock, (errand) => way.route(errand), baseStore)
  const limiter = createLimiter({ name: "api", policy, store, lease })
  const direct = createLimiter({ name: "api", policy, store: baseStore })
  return { limiter, direct, store, way }
}

async function warmUp(limiter: Limiter, key = "k"): Promise<number> {
  for (let asked = 1; asked < 50; asked += 1) {
    if ((await limiter.tryAcquire(key)).source === "lease") return asked
  }
  throw new Error("nothing was leased")
}

const spentOf = async (limiter: Limiter, key = "k") => {
  const { limit, remaining } = await limiter.peek(key)
  return limit - remaining
}

const allSpentOf = async (limiter: Limiter) => {
  const { policies = [] } = await limiter.peek("k")
  return policies.map(({ limit, remaining }) => limit - remaining)
}

describe("after a reset", () => {
  test("blocks are dropped, and none of their units are given back", async () => {
    const { limiter, direct } = setUp(hourly)
    await warmUp(limiter)
    await limiter.reset("k")
    expect(await spentOf(direct)).toBe(0)
    expect((await limiter.tryAcquire("k")).source).toBe("store")
    await limiter.close()
    expect(await spentOf(direct)).toBe(1)
  })

  test("by another process, units that were debited before it are not given back", async () => {
    const { limiter, direct } = setUp(tokenBucket({ capacity: 1_000, refill: 1, every: "1h" }))
    await warmUp(limiter)
    await direct.reset("k")
    await direct.tryAcquire("k", { cost: 500 })
    await limiter.close()
    expect(await spentOf(direct)).toBe(500)
  })

  test("of some policies, units debited under the other policies are given back", async () => {
    const policy = { minute: fixedWindow({ limit: 1_000, window: "1m" }), hour: hourly }
    const { limiter, direct } = setUp(policy)
    const asked = await warmUp(limiter)
    await limiter.reset("k", { policy: { minute: policy.minute } })
    await limiter.close()
    expect(await allSpentOf(direct)).toEqual([0, asked])
  })

  test("a block in flight is dropped, and its units that still count are given back", async () => {
    const bucket = tokenBucket({ capacity: 1_000, refill: 1, every: "1h" })
    const policy = { bucket, hour: hourly }
    const { limiter, direct, store, way } = setUp(policy)
    await limiter.tryAcquire("k")
    way.route = whenTold
    const second = limiter.tryAcquire("k")
    const errands = store.errands.slice(-2)
    for (const errand of errands) errand.decide()
    way.route = soon
    await limiter.reset("k", { policy: { bucket } })
    for (const errand of errands) errand.answer()
    await second
    here.clock.advance(1)
    expect((await limiter.tryAcquire("k")).source).toBe("store")
    await limiter.close()
    expect(await allSpentOf(direct)).toEqual([1, 3])
  })

  test("units that were debited while it was in flight are not given back, because the order is unknown", async () => {
    const { limiter, direct, store, way } = setUp(hourly)
    await warmUp(limiter)
    way.route = (errand) => errand.kind !== "forget" && errand.answer()
    const reset = limiter.reset("k")
    const forget = store.errands.at(-1) as Errand
    await warmUp(limiter)
    forget.answer()
    await reset
    here.clock.advance(1)
    expect((await limiter.tryAcquire("k")).source).toBe("store")
    const asked = await warmUp(limiter)
    await limiter.close()
    expect(await spentOf(direct)).toBe(asked + 1)
  })

  test.each([
    ["the store refuses", "STORE_REFUSED", false],
    ["was not made though it may have been", "STORE_UNKNOWN", false],
    ["was made though it may not have been", "STORE_UNKNOWN", true],
  ] as const)("that %s, units that are still debited are given back", async (_what, code, isMade) => {
    const { limiter, direct, store, way } = setUp(hourly)
    const asked = await warmUp(limiter)
    way.route = (errand) => errand.kind !== "forget" && errand.answer()
    const reset = limiter.reset("k")
    const forget = store.errands.at(-1) as Errand
    if (isMade) forget.decide()
    forget.fail(new SluiceError(code, "full"))
    await expect(reset).rejects.toMatchObject({ code })
    await limiter.close()
    expect(await spentOf(direct)).toBe(isMade ? 0 : asked)
  })
})

describe("a refund with leases", () => {
  test("goes to the store at once, and remaining never exceeds the limit", async () => {
    const { limiter, direct } = setUp(hourly)
    const asked = await warmUp(limiter)
    const held = (await spentOf(direct)) - asked
    await limiter.refund("k", asked + held)
    expect(await spentOf(direct)).toBe(0)
    // Too much for the block, so the store decides and reports the state of the key.
    expect((await limiter.peek("k", { cost: 900 })).source).toBe("store")
    for (let i = 0; i < held; i += 1) {
      const { remaining } = await limiter.tryAcquire("k")
      expect(remaining).toBeLessThanOrEqual(1_000)
    }
  })
})

describe("a peek with leases", () => {
  test("reports what a block would, and takes no units", async () => {
    const { limiter, store } = setUp(hourly)
    const asked = await warmUp(limiter)
    const before = store.errands.length
    for (let i = 0; i < 50; i += 1) {
      expect(await limiter.peek("k")).toMatchObject({
        allowed: true,
        source: "lease",
        remaining: 1_000 - asked,
      })
    }
    expect(store.errands.length).toBe(before)
  })

  test("fetches no block and stores nothing", async () => {
    const { limiter } = setUp(hourly)
    for (let i = 0; i < 50; i += 1) expect((await limiter.peek("k")).source).toBe("store")
    expect(here.timers).toBe(0)
  })
})

describe("requests of different costs", () => {
  test("share blocks and spend exactly their costs", async () => {
    const { limiter, direct } = setUp(hourly)
    let admitted = 0
    let leased = 0
    for (let i = 0; i < 300; i += 1) {
      const cost = [1, 5, 2, 9][i % 4] as number
      const { allowed, source } = await limiter.tryAcquire("k", { cost })
      if (allowed) admitted += cost
      if (source === "lease") leased += 1
    }
    expect(leased).toBeGreaterThan(100)
    await limiter.close()
    expect(await spentOf(direct)).toBe(admitted)
  })

  test("are still leased when one block is too small for them", async () => {
    const { limiter } = setUp(fixedWindow({ limit: 100_000, window: "1h" }))
    await warmUp(limiter)
    let leased = 0
    for (let i = 0; i < 100; i += 1) {
      if ((await limiter.tryAcquire("k", { cost: 50 })).source === "lease") leased += 1
    }
    expect(leased).toBeGreaterThan(80)
  })

  test("are charged to each policy, and still leased when one policy is low", async () => {
    const { limiter, direct } = setUp({ a: hourly, b: slidingLog({ limit: 5_000, window: "1h" }) })
    const spent = { a: 0, b: 0 }
    let leased = 0
    for (let i = 0; i < 150; i += 1) {
      const cost = i < 20 ? { a: 5, b: 5 } : { a: 1, b: 25 }
      const { allowed, source } = await limiter.tryAcquire("k", { cost })
      if (source === "lease") leased += 1
      if (!allowed) continue
      spent.a += cost.a
      spent.b += cost.b
    }
    expect(leased).toBeGreaterThan(120)
    await limiter.close()
    const told = (await direct.peek("k")).policies?.map(({ limit, remaining }) => limit - remaining)
    expect(told).toEqual([spent.a, spent.b])
  })

  test("fetch the next block early when the block is low under one policy", async () => {
    const plenty = fixedWindow({ limit: 1_000_000, window: "1h" })
    const { limiter } = setUp({ a: plenty, b: slidingLog({ limit: 1_000_000, window: "1h" }) })
    await warmUp(limiter)
    for (let i = 0; i < 20; i += 1) {
      await here.pass(0)
      expect((await limiter.tryAcquire("k", { cost: { a: 1, b: 3 } })).source).toBe("lease")
    }
  })

  test("go to the store if their policies are not the leased ones", async () => {
    const { limiter } = setUp(hourly)
    await warmUp(limiter)
    const policy = fixedWindow({ limit: 900, window: "1h" })
    expect((await limiter.tryAcquire("k", { policy })).source).toBe("store")
    expect((await limiter.tryAcquire("k")).source).toBe("lease")
  })
})

describe("an unreachable store", () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  beforeEach(() => {
    unhandled.length = 0
    process.on("unhandledRejection", note)
  })
  afterEach(async () => {
    await here.pass(0)
    process.off("unhandledRejection", note)
    expect(unhandled).toEqual([])
  })

  test("while a block is fetched: requests are sent one by one, and blocks are fetched again later", async () => {
    const { limiter, way } = setUp(hourly)
    way.route = (errand) => ((errand.ask?.count ?? 1) > 1 ? errand.fail() : errand.answer())
    for (let i = 0; i < 50; i += 1) {
      expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
    }
    way.route = soon
    here.clock.advance(100)
    await warmUp(limiter)
  })

  test("while a block is given back: its units stay spent, and close still resolves", async () => {
    const { limiter, direct, way } = setUp(hourly)
    const asked = await warmUp(limiter)
    way.route = (errand) => (errand.kind === "giveBack" ? errand.fail() : errand.answer())
    await here.pass(100)
    expect(await spentOf(direct)).toBeGreaterThan(asked)
    const again = await warmUp(limiter)
    await limiter.close()
    expect(await spentOf(direct)).toBeGreaterThan(asked + again)
  })

  test("that throws synchronously rejects only the calls of callers", async () => {
    const baseStore = memoryStore({ clock: here.clock })
    let broken = false
    const store: Store = {
      ...baseStore,
      clock: here.clock,
      decide(request) {
        if (broken && request.count > 1) throw new Error("broken")
        return baseStore.decide(request)
      },
      giveBack(policies, at) {
        if (broken) throw new Error("broken")
        baseStore.giveBack(policies, at)
      },
    }
    const limiter = createLimiter({ policy: hourly, store: withLayers(store, { leases }), lease: true })
    await warmUp(limiter)
    broken = true
    for (let i = 0; i < 50; i += 1) expect((await limiter.tryAcquire("k")).allowed).toBe(true)
    await here.pass(200)
    broken = false
    await warmUp(limiter)
    await limiter.close()
  })
})

describe("close", () => {
  test("gives all blocks back, and waits for calls in flight", async () => {
    const { limiter, direct, way } = setUp(hourly)
    const asked = [await warmUp(limiter, "a"), await warmUp(limiter, "b")]
    await limiter.tryAcquire("c")
    // A block of c is in flight from the store.
    way.route = (errand) => here.after(20, errand.answer)
    const last = limiter.tryAcquire("c")
    let closed = false
    const closing = limiter.close().then(() => {
      closed = true
    })
    await here.pass(39)
    expect(closed).toBe(false)
    await here.pass(1)
    await Promise.all([closing, last])
    expect(await Promise.all(["a", "b", "c"].map((key) => spentOf(direct, key)))).toEqual([...asked, 2])
    expect(here.timers).toBe(0)
  })
})

describe("the table of leases", () => {
  test("holds at most ten thousand keys; requests of other keys go to the store one by one", async () => {
    const { limiter } = setUp(hourly)
    for (let i = 0; i < 10_000; i += 1) limiter.tryAcquire(`k${i}`)
    await expect(warmUp(limiter, "one more")).rejects.toThrow("nothing was leased")
    await warmUp(limiter, "k9999")
    await here.pass(200)
    await warmUp(limiter, "one more")
  })

  test("holds no key of more than 256 characters", async () => {
    const { limiter } = setUp(hourly)
    await expect(warmUp(limiter, "k".repeat(257))).rejects.toThrow("nothing was leased")
    await warmUp(limiter, "k".repeat(256))
  })

  test("does not keep the process alive", async () => {
    vi.unstubAllGlobals()
    const timers = vi.spyOn(globalThis, "setTimeout")
    const store = withLayers({ ...memoryStore() }, { leases })
    const policy = tokenBucket({ capacity: 9, refill: 1, every: 1 })
    const limiter = createLimiter({ policy, store, lease: true })
    await limiter.tryAcquire("k")
    const timer = timers.mock.results[0]?.value as NodeJS.Timeout
    timers.mockRestore()
    expect(timer.hasRef()).toBe(false)
    await limiter.close()
  })
})

test("close does not wait for a store that never replies", async () => {
  const { limiter, way } = setUp(hourly)
  await warmUp(limiter)
  way.route = whenTold
  const closed = limiter.close().then(() => "closed")
  await here.pass(3_000)
  expect(await Promise.race([closed, "waiting"])).toBe("closed")
})
