import { expect, test } from "vitest"
import { distantStore, type Errand, settled, whenTold } from "../../test/support/distant-store.js"
import { createLimiter } from "../create-limiter.js"
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
