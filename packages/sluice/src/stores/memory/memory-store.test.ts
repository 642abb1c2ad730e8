import { describe, expect, test } from "vitest"
import { createLimiter } from "../../create-limiter.js"
import { fixedWindow, slidingLog, tokenBucket } from "../../policy.js"
import { scopeOf } from "../../state-key.js"
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

  test("answers at once, without a promise", () => {
    const answer = memoryStore().ask({
      parts: [{ scope: scopeOf("n", "p"), key: "k", policy: perHour, cost: 1 }],
      count: 5,
      mode: "spend",
    })
    expect(answer).toMatchObject({ granted: 2 })
  })

  test("goes by the process clock unless told", async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: "1h", align: "clock" }) })
    const { resetAfter } = await limiter.tryAcquire("k")
    const untilFullHour = 3_600_000 - (Date.now() % 3_600_000)
    expect(Math.abs(resetAfter - untilFullHour)).toBeLessThan(1_000)
  })

  test("never holds more keys than its cap", async () => {
    const { store, limiter } = setUp(100)
    for (let i = 0; i < 10_000; i += 1) await limiter.tryAcquire(`attacker ${i}`)
    expect(store.size).toBe(100)
  })

  test("holds nothing for what it denies or only looks at", async () => {
    const { store, limiter } = setUp(100)
    for (let i = 0; i < 50; i += 1) {
      await limiter.tryAcquire(`k${i}`, { cost: 3 })
      await limiter.peek(`k${i}`)
    }
    expect(store.size).toBe(0)
  })

  test("clears expired keys away as new ones come, so that it does not grow with its past", async () => {
    const { store, clock, limiter } = setUp(1_000_000)
    for (let i = 0; i < 20_000; i += 1) {
      await limiter.tryAcquire(`k${i}`, { policy: perSecond })
      clock.advance(1)
    }
    expect(store.size).toBeLessThan(5_000)
  })

  test("makes room with an expired key first", async () => {
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

  test("then with the key nearest to full", async () => {
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

  test("and with a denied key last, however near to full", async () => {
    const { limiter } = setUp(3)
    await limiter.tryAcquire("denied", { cost: 2, policy: perSecond })
    await limiter.tryAcquire("denied", { cost: 2, policy: perSecond })
    await limiter.tryAcquire("a")
    await limiter.tryAcquire("b")
    for (let i = 0; i < 20; i += 1) await limiter.tryAcquire(`attacker ${i}`)
    expect((await limiter.peek("denied", { policy: perSecond })).allowed).toBe(false)
  })

  test("but no longer once it was granted again", async () => {
    const { limiter } = setUp(3)
    await limiter.tryAcquire("denied", { policy: perSecond })
    await limiter.tryAcquire("denied", { cost: 2, policy: perSecond })
    await limiter.tryAcquire("denied", { policy: perSecond })
    await limiter.tryAcquire("a")
    await limiter.tryAcquire("b")
    await limiter.tryAcquire("c")
    expect((await limiter.peek("denied", { policy: perSecond })).remaining).toBe(2)
  })

  test("forgets a key that got everything back", async () => {
    const { store, limiter } = setUp(10)
    await limiter.tryAcquire("k")
    await limiter.refund("k", 1)
    expect(store.size).toBe(0)
  })

  test("notes that a key was reset where that had spent something, for as long as that would have counted", async () => {
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
  ])("keeps debt that can grow no further: %o", async (policy) => {
    const { clock, limiter } = setUp(100)
    for (let i = 0; i < 200; i += 1) await limiter.charge("k", 5, { policy })
    const { retryAfter } = await limiter.peek("k", { policy })
    clock.advance(retryAfter - 1)
    for (let i = 0; i < 10; i += 1) await limiter.tryAcquire(`other ${i}`)
    expect((await limiter.peek("k", { policy })).retryAfter).toBe(1)
  })
})
