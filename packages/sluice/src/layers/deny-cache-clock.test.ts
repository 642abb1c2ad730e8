import { expect, onTestFinished, test, vi } from "vitest"
import { distantStore, type Errand, settled, whenTold } from "../../test/support/distant-store.js"
import { createLimiter } from "../create-limiter.js"
import type { Decision } from "../decision.js"
import { Later } from "../later.js"
import { fixedWindow } from "../policy.js"
import { scopeOf } from "../state-key.js"
import type { Answer, Ask } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { manualClock } from "../testing/manual-clock.js"
import { denyCache } from "./deny-cache.js"

test("a denial that was asked for before the clock was set back is not remembered for as long as that", async () => {
  const clock = manualClock()
  const store = distantStore(clock, whenTold, memoryStore({ clock }))
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: 500 }), store })
  const answer = async (i: number) => {
    ;(store.errands[i] as Errand).answer()
    await settled()
  }
  const first = limiter.tryAcquire("k")
  await answer(0)
  expect(await first).toMatchObject({ allowed: true })
  const denied = limiter.tryAcquire("k")
  store.errands[1]?.decide()
  clock.advance(-5_000)
  await answer(1)
  expect(await denied).toMatchObject({ allowed: false, retryAfter: 500 })
  clock.advance(500)
  const again = limiter.tryAcquire("k")
  await settled()
  expect(store.errands).toHaveLength(3)
  await answer(2)
  expect((await again).source).toBe("store")
})

test("a denial that was asked for after the clock was set back does not outlast that of the store", async () => {
  const clock = manualClock()
  const store = distantStore(clock, whenTold, memoryStore({ clock }))
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: 300 }), store })
  const answers = async (of: Promise<Decision>[]) => {
    for (const errand of store.errands) errand.answer()
    return await Promise.all(of)
  }
  await answers([limiter.tryAcquire("k")])
  clock.advance(5_000)
  const other = limiter.tryAcquire("other")
  clock.advance(-5_000)
  const denied = limiter.tryAcquire("k")
  for (const errand of store.errands) errand.decide()
  clock.advance(200)
  expect((await answers([other, denied]))[1]).toMatchObject({ allowed: false, retryAfter: 300 })
  clock.advance(100)
  expect(await answers([limiter.tryAcquire("k")])).toMatchObject([{ allowed: true, source: "store" }])
})

const spend = (key: string, policy = fixedWindow({ limit: 1, window: 500 })): Ask => ({
  parts: [{ scope: scopeOf("a", "default"), key, policy, cost: 1 }],
  count: 1,
  mode: "spend",
})

/** The clock of the process; each reading of it takes a little while, if that is given. */
function processClock(reading = 0) {
  const clock = manualClock()
  const now = vi.spyOn(performance, "now").mockImplementation(() => {
    clock.advance(reading)
    return clock()
  })
  onTestFinished(() => now.mockRestore())
  return { clock, now }
}

test("asks that are made together are made at once by the clock of the process, which is read for the first of them", async () => {
  const { clock, now } = processClock()
  const { clock: _, ...ledger } = memoryStore({ clock })
  const cache = denyCache(ledger)
  cache.ask(spend("k"))
  for (let i = 0; i < 10; i += 1) cache.ask(spend(`${i}`))
  expect(now).toHaveBeenCalledTimes(1)
  await undefined
  clock.advance(100)
  cache.ask(spend("other"))
  clock.advance(100)
  // asked for at 200 and told then, but remembered as of 100
  expect(cache.ask(spend("k"))).toMatchObject({ granted: 0, levels: [[1, 300_000, 0]] })
  await undefined
  clock.advance(199)
  expect(cache.ask(spend("k"))).toMatchObject({ granted: 0, source: "cache", levels: [[1, 101_000, 0]] })
  clock.advance(1)
  expect(cache.ask(spend("k"))).toMatchObject({ granted: 0, source: "cache", levels: [[1, 101_000, 0]] })
  await undefined
  expect(cache.ask(spend("k"))).not.toHaveProperty("source")
  await undefined
  clock.advance(99)
  expect(cache.ask(spend("k"))).toMatchObject({ granted: 0, source: "cache" })
})

test("who is told of a denial together with others, and asks again at once, is answered by it", async () => {
  const { clock } = processClock(0.01)
  const { clock: _, ...ledger } = memoryStore({ clock })
  const hourly = fixedWindow({ limit: 1, window: "1h" })
  const replies: (() => void)[] = []
  const asked = vi.fn((ask: Ask) => {
    const answer = new Later<Answer>()
    replies.push(() => answer.resolve(ledger.ask(ask)))
    return answer
  })
  const cache = denyCache({ ...ledger, ask: asked })
  const reply = async () => {
    await undefined
    for (const answer of replies.splice(0)) answer()
    await undefined
  }
  const keys = ["a", "b", "c"]
  for (let times = 0; times < 2; times += 1) {
    for (const key of keys) cache.ask(spend(key, hourly))
    await reply()
  }
  clock.advance(1_000)
  // what was denied has to be looked for again, by one ask for each key
  for (const key of keys) for (let i = 0; i < 5; i += 1) cache.ask(spend(key, hourly))
  expect(asked).toHaveBeenCalledTimes(3 * keys.length)
  await reply()
  expect(asked).toHaveBeenCalledTimes(3 * keys.length)
})
