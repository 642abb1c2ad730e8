import { describe, expect, test } from "vitest"
import { createLimiter } from "../../create-limiter.js"
import { fixedWindow, leakyBucket, slidingLog, slidingWindow, tokenBucket } from "../../policy.js"
import { policyRef } from "../../state-key.js"
import { manualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "./memory-store.js"

const perSecond = fixedWindow({ limit: 2, window: "1s" })
const perHour = fixedWindow({ limit: 2, window: "1h" })

function setUp(maxKeys: number) {
  const clock = manualClock()
  const store = memoryStore({ clock, maxKeys })
  return { clock, store, limiter: createLimiter({ policy: perHour, store }) }
}

describe("a memory store", () => {
  test.each([
    [{ maxKeys: 0 }, "maxKeys must be an integer"],
    [{ maxKeys: 1.5 }, "maxKeys must be an integer"],
    [{ maxKeys: 2 ** 24 + 1 }, "maxKeys must be an integer"],
    [{ clock: 5 }, "clock must be a function, got 5"],
    [{ size: 5 }, 'memoryStore has no field "size"'],
  ])("refuses %o", (options, message) => {
    expect(() => memoryStore(options as never)).toThrow(message)
  })

  test("replies synchronously, without a promise", () => {
    const reply = memoryStore().decide({
      policies: [{ ref: policyRef("n", "p"), key: "k", policy: perHour, cost: 1 }],
      count: 5,
      mode: "spend",
    })
    expect(reply).toMatchObject({ granted: 2 })
  })

  test("uses the process clock by default", async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: "1h", align: "clock" }) })
    const { resetAfter } = await limiter.tryAcquire("k")
    const untilFullHour = 3_600_000 - (Date.now() % 3_600_000)
    expect(Math.abs(resetAfter - untilFullHour)).toBeLessThan(1_000)
  })

  test("never holds more than maxKeys", async () => {
    const { store, limiter } = setUp(100)
    for (let i = 0; i < 10_000; i += 1) await limiter.tryAcquire(`attacker ${i}`)
    expect(store.size).toBe(100)
  })

  test("stores nothing for denials and peeks", async () => {
    const { store, limiter } = setUp(100)
    for (let i = 0; i < 50; i += 1) {
      await limiter.tryAcquire(`k${i}`, { cost: 3 })
      await limiter.peek(`k${i}`)
    }
    expect(store.size).toBe(0)
  })

  test("removes expired keys as new ones come, so that it does not grow forever", async () => {
    const { store, clock, limiter } = setUp(1_000_000)
    for (let i = 0; i < 20_000; i += 1) {
      await limiter.tryAcquire(`k${i}`, { policy: perSecond })
      clock.advance(1)
    }
    expect(store.size).toBeLessThan(5_000)
  })

  test("evicts an expired key first", async () => {
    const { clock, limiter } = setUp(3)
    await limiter.tryAcquire("long", { cost: 2 })
    await limiter.tryAcquire("short", { cost: 2, policy: perSecond })
    await limiter.tryAcquire("short", { cost: 2, policy: perSecond })
    await limiter.tryAcquire("later", { cost: 2 })
    clock.advance(1_000)
    await limiter.tryAcquire("new")
    expect((await limiter.peek("long")).remaining).toBe(0)
    expect((await limiter.peek("later")).remaining).toBe(0)
    expect((await limiter.peek("new")).remaining).toBe(1)
  })

  test("then evicts the key that has spent the smallest share of its limit", async () => {
    const clock = manualClock()
    const store = memoryStore({ clock, maxKeys: 3 })
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 10, refill: 1, every: "1m" }), store })
    await limiter.tryAcquire("most", { cost: 9 })
    await limiter.tryAcquire("least", { cost: 2 })
    await limiter.tryAcquire("some", { cost: 5 })
    await limiter.tryAcquire("new", { cost: 7 })
    expect((await limiter.peek("least")).remaining).toBe(10)
    expect((await limiter.peek("most")).remaining).toBe(1)
    expect((await limiter.peek("some")).remaining).toBe(5)
  })

  test.each([
    fixedWindow({ limit: 5, window: "1m" }),
    slidingLog({ limit: 5, window: "1m" }),
    slidingWindow({ limit: 5, window: "1m" }),
    tokenBucket({ capacity: 5, refill: 1, every: "1m" }),
    tokenBucket({ capacity: 5, refill: 5, every: "1m", mode: "interval" }),
    leakyBucket({ capacity: 5, leak: 1, every: "1m" }),
  ])("made-up keys of a longer policy do not reset an exhausted key: %o", async (policy) => {
    const { limiter } = setUp(100)
    for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("exhausted", { policy })
    const junk = fixedWindow({ limit: 5, window: "1h" })
    for (let i = 0; i < 1_000; i += 1) await limiter.tryAcquire(`junk ${i}`, { policy: junk })
    expect(await limiter.peek("exhausted", { policy })).toMatchObject({ allowed: false, remaining: 0 })
  })

  test.each([fixedWindow({ limit: 5, window: "1m" }), slidingLog({ limit: 5, window: "1m" })])(
    "made-up keys that are used later do not reset an exhausted key: %o",
    async (policy) => {
      const { clock, limiter } = setUp(100)
      for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("exhausted", { policy })
      for (let i = 0; i < 110; i += 1) {
        clock.advance(1)
        await limiter.tryAcquire(`junk ${i}`, { policy })
      }
      expect((await limiter.tryAcquire("exhausted", { policy })).allowed).toBe(false)
    },
  )

  test("does not evict a key with a booked turn, even if its window is in the future", async () => {
    const { clock, store, limiter } = setUp(10)
    const policy = fixedWindow({ limit: 5, window: "1m" })
    const parts = [{ ref: policyRef("default", "default"), key: "waits", policy, cost: 5 }]
    for (let i = 0; i < 2; i += 1)
      store.decide({ policies: parts, count: 1, mode: "book", maxWait: 600_000_000 })
    for (let i = 0; i < 100; i += 1) await limiter.tryAcquire(`junk ${i}`)
    clock.advance(59_999)
    expect(await limiter.peek("waits", { policy })).toMatchObject({ remaining: 0 })
  })

  test("forgets a key that got everything back", async () => {
    const { store, limiter } = setUp(10)
    await limiter.tryAcquire("k")
    await limiter.refund("k", 1)
    expect(store.size).toBe(0)
  })

  test("notes the reset of a key with spent units, for as long as they would have counted", async () => {
    const { clock, store, limiter } = setUp(1)
    await limiter.reset("k")
    expect(store.size).toBe(0)
    await limiter.tryAcquire("k")
    await limiter.reset("k")
    expect(store.size).toBe(1)
    clock.advance(3_600_000 + 1_001)
    await limiter.tryAcquire("other")
    expect(store.size).toBe(1)
    expect((await limiter.peek("other")).remaining).toBe(1)
  })

  test.each([
    slidingLog({ limit: 1, window: "1s" }),
    fixedWindow({ limit: 1, window: "1s" }),
    tokenBucket({ capacity: 1, refill: 1, every: "1s", mode: "interval" }),
  ])(
    "keeps a key until its debt is paid, also after charges that no longer add to it: %o",
    async (policy) => {
      const { clock, limiter } = setUp(100)
      for (let i = 0; i < 200; i += 1) await limiter.charge("k", 5, { policy })
      const { retryAfter } = await limiter.peek("k", { policy })
      clock.advance(retryAfter - 1)
      for (let i = 0; i < 10; i += 1) await limiter.tryAcquire(`other ${i}`)
      expect((await limiter.peek("k", { policy })).retryAfter).toBe(1)
    },
  )
})
