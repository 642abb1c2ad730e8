import { expect, test } from "vitest"
import { distantStore, type Errand, settled, whenTold } from "../../test/support/distant-store.js"
import { createLimiter } from "../create-limiter.js"
import type { Decision } from "../decision.js"
import { fixedWindow } from "../policy.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { manualClock } from "../testing/manual-clock.js"

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

test("asks of one turn share a reading of the clock, which makes none of their denials last longer", async () => {
  const clock = manualClock()
  const store = distantStore(clock, whenTold, memoryStore({ clock }))
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: 500 }), store })
  const answers = async (of: Promise<Decision>[]) => {
    for (const errand of store.errands) errand.answer()
    return await Promise.all(of)
  }
  // both windows begin now
  await answers([limiter.tryAcquire("a"), limiter.tryAcquire("b")])
  clock.advance(100)
  const a = limiter.tryAcquire("a")
  clock.advance(100)
  const b = limiter.tryAcquire("b")
  expect(await answers([a, b])).toMatchObject([
    { allowed: false, retryAfter: 300 },
    { allowed: false, retryAfter: 300 },
  ])
  clock.advance(199)
  expect(await limiter.tryAcquire("b")).toMatchObject({ source: "cache", retryAfter: 101 })
  clock.advance(1)
  // it may be over by what was read, though it is not
  const again = limiter.tryAcquire("b")
  expect(await answers([again])).toMatchObject([{ source: "store", allowed: false, retryAfter: 100 }])
  // a turn of its own has its own reading
  clock.advance(99)
  expect(await limiter.tryAcquire("b")).toMatchObject({ source: "cache", retryAfter: 1 })
})
