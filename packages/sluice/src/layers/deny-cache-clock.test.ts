import { expect, onTestFinished, test, vi } from "vitest"
import { distantStore, type Errand, settled, whenTold } from "../../test/support/distant-store.js"
import { createLimiter } from "../create-limiter.js"
import type { Decision } from "../decision.js"
import { Deferred } from "../deferred.js"
import { fixedWindow } from "../policy.js"
import { policyRef } from "../state-key.js"
import type { StoreReply, StoreRequest } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { manualClock } from "../testing/manual-clock.js"
import { denyCache } from "./deny-cache.js"

test("a denial requested before the clock was set back is not kept longer by that jump", async () => {
  const clock = manualClock()
  const store = distantStore(clock, whenTold, memoryStore({ clock }))
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: 500 }), store })
  const reply = async (i: number) => {
    ;(store.errands[i] as Errand).answer()
    await settled()
  }
  const first = limiter.tryAcquire("k")
  await reply(0)
  expect(await first).toMatchObject({ allowed: true })
  const denied = limiter.tryAcquire("k")
  store.errands[1]?.decide()
  clock.advance(-5_000)
  await reply(1)
  expect(await denied).toMatchObject({ allowed: false, retryAfter: 500 })
  clock.advance(500)
  const again = limiter.tryAcquire("k")
  await settled()
  expect(store.errands).toHaveLength(3)
  await reply(2)
  expect((await again).source).toBe("store")
})

test("a denial requested after the clock was set back does not outlast the denial of the store", async () => {
  const clock = manualClock()
  const store = distantStore(clock, whenTold, memoryStore({ clock }))
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: 300 }), store })
  const replies = async (of: Promise<Decision>[]) => {
    for (const errand of store.errands) errand.answer()
    return await Promise.all(of)
  }
  await replies([limiter.tryAcquire("k")])
  clock.advance(5_000)
  const other = limiter.tryAcquire("other")
  clock.advance(-5_000)
  const denied = limiter.tryAcquire("k")
  for (const errand of store.errands) errand.decide()
  clock.advance(200)
  expect((await replies([other, denied]))[1]).toMatchObject({ allowed: false, retryAfter: 300 })
  clock.advance(100)
  expect(await replies([limiter.tryAcquire("k")])).toMatchObject([{ allowed: true, source: "store" }])
})

const spend = (key: string, policy = fixedWindow({ limit: 1, window: 500 })): StoreRequest => ({
  policies: [{ ref: policyRef("a", "default"), key, policy, cost: 1 }],
  count: 1,
  mode: "spend",
})

/** The clock of the process. If a time is given, each reading takes that long. */
function processClock(reading = 0) {
  const clock = manualClock()
  const now = vi.spyOn(performance, "now").mockImplementation(() => {
    clock.advance(reading)
    return clock()
  })
  onTestFinished(() => now.mockRestore())
  return { clock, now }
}

test("a caller that shared a denial and retries at once is answered from the cache", async () => {
  const { clock } = processClock(0.01)
  const { clock: _, ...baseStore } = memoryStore({ clock })
  const hourly = fixedWindow({ limit: 1, window: "1h" })
  const replies: (() => void)[] = []
  const asked = vi.fn((request: StoreRequest) => {
    const reply = new Deferred<StoreReply>()
    replies.push(() => reply.resolve(baseStore.decide(request)))
    return reply
  })
  const cache = denyCache({ ...baseStore, decide: asked })
  const reply = async () => {
    await undefined
    for (const reply of replies.splice(0)) reply()
    await undefined
  }
  const keys = ["a", "b", "c"]
  for (let times = 0; times < 2; times += 1) {
    for (const key of keys) cache.decide(spend(key, hourly))
    await reply()
  }
  clock.advance(1_000)
  // Expired denials are probed again, with one request per key.
  for (const key of keys) for (let i = 0; i < 5; i += 1) cache.decide(spend(key, hourly))
  expect(asked).toHaveBeenCalledTimes(3 * keys.length)
  await reply()
  expect(asked).toHaveBeenCalledTimes(3 * keys.length)
})
