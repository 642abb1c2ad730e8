import { describe, expect, test } from "vitest"
import { distantStore, type Errand, settled, soon, whenTold } from "../../test/support/distant-store.js"
import { combine } from "../combine.js"
import { createLimiter } from "../create-limiter.js"
import type { Decision } from "../decision.js"
import type { Policies } from "../policies.js"
import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "../policy.js"
import type { Store, StoreRequest } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { manualClock } from "../testing/manual-clock.js"
import { withLayers } from "./compose.js"
import { denyCache } from "./deny-cache.js"

/** A limiter with a deny cache, and one directly on the same base store. */
function setUp<P extends Policies>(policy: P, route: (errand: Errand) => void = soon) {
  const clock = manualClock()
  const baseStore = memoryStore({ clock })
  const store = distantStore(clock, route, baseStore)
  const limiter = createLimiter({ name: "api", policy, store })
  const direct = createLimiter({ name: "api", policy, store: baseStore })
  return { clock, store, limiter, direct }
}

const hourly = fixedWindow({ limit: 3, window: "1h" })
const perSecond = fixedWindow({ limit: 3, window: "1s" })

/** Policies that grant three units, and the next one after some milliseconds. */
const policies: readonly [name: string, policy: Policy][] = [
  ["fixedWindow", fixedWindow({ limit: 3, window: 700 })],
  ["fixedWindow by the clock", fixedWindow({ limit: 3, window: 900, align: "clock" })],
  ["slidingLog", slidingLog({ limit: 3, window: 700 })],
  ["slidingWindow", slidingWindow({ limit: 3, window: 700, buckets: 4 })],
  ["tokenBucket", tokenBucket({ capacity: 3, refill: 7, every: 999 })],
  ["tokenBucket by intervals", tokenBucket({ capacity: 3, refill: 2, every: 300, mode: "interval" })],
  ["leakyBucket", leakyBucket({ capacity: 3, leak: 2, every: 500 })],
]

/** A decision without its source. */
const said = ({ source: _, ...rest }: Decision) => rest

describe.each(policies)("a cached denial of a %s", (_name, policy) => {
  test("repeats the decision of the store without a call, until the request passes", async () => {
    const { clock, store, limiter, direct } = setUp(policy)
    await limiter.tryAcquire("k", { cost: 3 })
    const denied = await limiter.tryAcquire("k")
    expect(denied).toMatchObject({ allowed: false, source: "store" })
    for (let ms = 1; ms < denied.retryAfter; ms += 1) {
      clock.advance(1)
      const recalled = await limiter.tryAcquire("k")
      expect(recalled).toMatchObject({ source: "cache", retryAfter: denied.retryAfter - ms })
      expect(said(recalled)).toEqual(said(await direct.peek("k")))
    }
    expect(store.asked).toBe(2)
    clock.advance(1)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
  })

  test("answers a greater cost only if its level can be read for any cost", async () => {
    const { clock, store, limiter, direct } = setUp(policy)
    await limiter.tryAcquire("k", { cost: 3 })
    await limiter.tryAcquire("k")
    clock.advance(1)
    for (const cost of [2, 3, 4]) {
      const told = await limiter.tryAcquire("k", { cost })
      expect(said(told)).toEqual(said(await direct.peek("k", { cost })))
      expect(told.source).toBe(policy.algorithm.startsWith("sliding") ? "store" : "cache")
    }
    expect(store.asked).toBe(policy.algorithm.startsWith("sliding") ? 5 : 2)
  })
})

describe("the deny cache", () => {
  test("keeps a denial for at most one second", async () => {
    const { clock, store, limiter } = setUp(hourly)
    await limiter.tryAcquire("k", { cost: 3 })
    await limiter.tryAcquire("k")
    clock.advance(999.999)
    expect(await limiter.tryAcquire("k")).toMatchObject({ source: "cache", retryAfter: 3_599_001 })
    clock.advance(0.001)
    expect(await limiter.tryAcquire("k")).toMatchObject({ source: "store", retryAfter: 3_599_000 })
    expect(store.asked).toBe(3)
  })

  test("counts the life of a denial from the request, not from the reply", async () => {
    const { clock, store, limiter } = setUp(hourly, whenTold)
    const first = limiter.tryAcquire("k", { cost: 4 })
    store.errands[0]?.decide()
    clock.advance(400)
    store.errands[0]?.answer()
    await first
    clock.advance(599)
    expect((await limiter.tryAcquire("k", { cost: 4 })).source).toBe("cache")
    clock.advance(1)
    limiter.tryAcquire("k", { cost: 4 })
    expect(store.asked).toBe(2)
  })

  // One unit takes 1,250 µs.
  test("keeps a denial to the microsecond, whatever fraction of a millisecond the clock shows", async () => {
    for (let us = 1; us < 400; us += 1) {
      const { clock, limiter, direct } = setUp(tokenBucket({ capacity: 1, refill: 4, every: 5 }))
      clock.advance(us / 1_000)
      await limiter.tryAcquire("k")
      await limiter.tryAcquire("k")
      for (const [step, source] of [
        [250, "cache"],
        [999, "cache"],
        [1, "store"],
      ] as const) {
        clock.set((Math.round(clock() * 1_000) + step) / 1_000)
        const exact = await direct.peek("k")
        const { allowed, retryAfter } = exact
        expect(await limiter.tryAcquire("k")).toMatchObject({ source, allowed, retryAfter })
      }
    }
  })

  test("keeps denying a cost beyond the limit", async () => {
    const { clock, limiter } = setUp(perSecond)
    await limiter.tryAcquire("k", { cost: 4 })
    clock.advance(5)
    expect(await limiter.tryAcquire("k", { cost: 5 })).toMatchObject({
      source: "cache",
      retryAfter: Infinity,
    })
  })

  test("repeats the level of each of several policies", async () => {
    const { clock, limiter, direct } = setUp({
      burst: tokenBucket({ capacity: 2, refill: 1, every: 100 }),
      day: fixedWindow({ limit: 100, window: "1d" }),
      log: slidingLog({ limit: 2, window: 400 }),
    })
    await limiter.tryAcquire("k", { cost: { burst: 2, day: 2, log: 2 } })
    await limiter.tryAcquire("k")
    for (let ms = 1; ms < 400; ms += 1) {
      clock.advance(1)
      const recalled = await limiter.tryAcquire("k")
      expect(recalled.source).toBe("cache")
      expect(said(recalled)).toEqual(said(await direct.peek("k")))
    }
    clock.advance(1)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
  })

  test("drops a denial when the clock was set back", async () => {
    const { clock, limiter, direct } = setUp(hourly)
    await limiter.tryAcquire("k", { cost: 3 })
    await limiter.tryAcquire("k")
    clock.advance(-10)
    const { source, retryAfter } = await limiter.tryAcquire("k")
    expect([source, retryAfter]).toEqual(["store", (await direct.peek("k")).retryAfter])
    clock.advance(5)
    expect((await limiter.tryAcquire("k")).source).toBe("cache")
  })

  test("keeps the denials of at most ten thousand keys, the most recent ones", async () => {
    const { store, limiter } = setUp(hourly)
    for (let i = 0; i < 20_000; i += 1) await limiter.tryAcquire(`k${i}`, { cost: 4 })
    const asked = store.asked
    let remembered = 0
    for (let i = 19_999; i >= 0; i -= 1) {
      const { source } = await limiter.tryAcquire(`k${i}`, { cost: 4 })
      if (source === "cache") remembered += 1
      if (i >= 15_000) expect(source).toBe("cache")
    }
    expect(remembered).toBeLessThanOrEqual(10_000)
    expect(store.asked - asked).toBe(20_000 - remembered)
  })

  test("keeps no denial of a key of more than 256 characters", async () => {
    const { limiter } = setUp(hourly)
    const key = "k".repeat(10_000)
    await limiter.tryAcquire(key, { cost: 4 })
    expect((await limiter.tryAcquire(key, { cost: 4 })).source).toBe("store")
  })
})

describe("the deny cache calls the store", () => {
  test("for a smaller cost, another policy, another key or limiter, and for a peek", async () => {
    const { store, limiter } = setUp(hourly)
    const other = createLimiter({ name: "other", policy: hourly, store })
    await limiter.tryAcquire("k", { cost: 2 })
    const requests: (() => Promise<{ source: string }>)[] = [
      () => limiter.tryAcquire("k", { cost: 1, policy: perSecond }),
      () =>
        limiter.tryAcquire("k", {
          cost: { default: 2, more: 2 },
          policy: { default: hourly, more: perSecond },
        }),
      () => limiter.tryAcquire("k2", { cost: 2 }),
      () => other.tryAcquire("k", { cost: 2 }),
      () => limiter.peek("k", { cost: 2 }),
      () => limiter.tryAcquire("k"),
    ]
    for (const request of requests) {
      await limiter.tryAcquire("k", { cost: 2 })
      expect((await limiter.tryAcquire("k", { cost: 2 })).source).toBe("cache")
      expect((await request()).source).toBe("store")
    }
  })

  test("again after a smaller cost was granted, because the cached level is then stale", async () => {
    const { limiter, direct } = setUp(tokenBucket({ capacity: 3, refill: 1, every: 300 }))
    await limiter.tryAcquire("k", { cost: 2 })
    await limiter.tryAcquire("k", { cost: 2 })
    await limiter.tryAcquire("k")
    const { source, retryAfter } = await limiter.tryAcquire("k", { cost: 2 })
    expect([source, retryAfter]).toEqual(["store", (await direct.peek("k", { cost: 2 })).retryAfter])
  })
})

describe("a denial is dropped by", () => {
  const gifts = {
    "a refund": (limiter: { refund(key: string, cost: number): Promise<void> }) => limiter.refund("k", 1),
    "a reset": (limiter: { reset(key: string): Promise<void> }) => limiter.reset("k"),
  }

  test.each(Object.entries(gifts))("%s, through any limiter of the same name", async (_name, give) => {
    const { store, limiter } = setUp(hourly)
    const another = createLimiter({ name: "api", policy: hourly, store })
    await limiter.tryAcquire("k", { cost: 3 })
    expect((await another.tryAcquire("k")).source).toBe("store")
    expect((await limiter.tryAcquire("k")).source).toBe("cache")
    await give(another as never)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
  })

  test.each(Object.entries(gifts))(
    "%s that runs while the reply of the store is in flight",
    async (_name, give) => {
      let route: (errand: Errand) => void = soon
      const { store, limiter } = setUp(hourly, (errand) => route(errand))
      await limiter.tryAcquire("k", { cost: 3 })
      route = whenTold
      const denied = limiter.tryAcquire("k")
      store.errands.at(-1)?.decide()
      route = soon
      await give(limiter as never)
      store.errands.find((errand) => errand.kind === "ask" && errand.ask?.policies[0]?.cost === 1)?.answer()
      expect((await denied).allowed).toBe(false)
      expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
    },
  )

  test.each(Object.entries(gifts))(
    "%s that is still in flight when the denial arrives",
    async (_name, give) => {
      let route: (errand: Errand) => void = soon
      const { store, limiter } = setUp(hourly, (errand) => route(errand))
      await limiter.tryAcquire("k", { cost: 3 })
      route = whenTold
      const given = give(limiter as never)
      const gift = store.errands.at(-1)
      route = soon
      expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, source: "store" })
      gift?.answer()
      await given
      expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
    },
  )

  test.each(Object.entries(gifts))("%s on a store that replies at once", async (_name, give) => {
    const clock = manualClock()
    const store = withLayers({ ...memoryStore({ clock }) }, { denyCache })
    const limiter = createLimiter({ policy: hourly, store })
    await limiter.tryAcquire("k", { cost: 3 })
    await limiter.tryAcquire("k")
    expect((await limiter.tryAcquire("k")).source).toBe("cache")
    await give(limiter as never)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "store" })
  })

  test.each([["before"], ["after"]])(
    "a request for several keys that gave units back, if the denial arrives %s it",
    async (when) => {
      const clock = manualClock()
      const memory = memoryStore({ clock })
      const severalKeys = ({ policies }: StoreRequest) => policies.some(({ key }) => key !== policies[0]?.key)
      const baseStore: Store = {
        ...memory,
        decide: (request) => ({ ...memory.decide(request), ...(severalKeys(request) && { gaveBack: true }) }),
      }
      const store = distantStore(clock, whenTold, baseStore)
      const limiter = createLimiter({ name: "api", policy: hourly, store })
      const direct = createLimiter({ name: "api", policy: hourly, store: memory })
      await direct.tryAcquire("user", { cost: 3 })
      const several = combine([limiter.on("user"), limiter.on("org")]).tryAcquire()
      await settled()
      const single = limiter.tryAcquire("org")
      await settled()
      // Spent for a moment, during which another request is denied.
      await direct.tryAcquire("org", { cost: 3 })
      store.errands[1]?.decide()
      await direct.refund("org", 3)
      const answers = when === "before" ? [1, 0] : [0, 1]
      for (const i of answers) {
        store.errands[i]?.answer()
        await settled()
      }
      expect((await single).allowed).toBe(false)
      expect((await several).allowed).toBe(false)
      const next = limiter.tryAcquire("org")
      await settled()
      store.errands[2]?.answer()
      expect(await next).toMatchObject({ allowed: true, source: "store" })
    },
  )

  test("a give-back that fails, because it may have run", async () => {
    let route: (errand: Errand) => void = soon
    const { store, limiter } = setUp(hourly, (errand) => route(errand))
    await limiter.tryAcquire("k", { cost: 3 })
    route = whenTold
    const given = limiter.refund("k", 1)
    const gift = store.errands.at(-1)
    route = soon
    await limiter.tryAcquire("k")
    gift?.decide()
    gift?.fail()
    await expect(given).rejects.toThrow("out of reach")
    await settled()
    expect((await limiter.tryAcquire("k")).allowed).toBe(true)
  })
})
