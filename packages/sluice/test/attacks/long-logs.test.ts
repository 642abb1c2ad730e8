import { createLimiter, memoryStore, slidingLog } from "sluice"
import { manualClock } from "sluice/testing"
import { expect, test } from "vitest"
import { bytesHeld } from "../support/memory.js"

const policy = slidingLog({ limit: 5_000, window: "1h" })

test("logs take no more memory than maxKeys allows, however many grants they hold", async () => {
  const clock = manualClock()
  const store = memoryStore({ clock, maxKeys: 1_000 })
  const limiter = createLimiter({ policy, store })
  const before = bytesHeld()
  // 200,000 grants are 6.4 MB
  for (let i = 0; i < 200_000; i += 1) {
    clock.advance(0.001)
    await limiter.tryAcquire(`key ${Math.floor(i / 4_000)}`)
  }
  expect(bytesHeld() - before).toBeLessThan(2_500_000)
  expect(store.size).toBeGreaterThan(0)
  await limiter.close()
})

test("a log that alone takes more than maxKeys is kept, and its limit holds", async () => {
  const clock = manualClock()
  const store = memoryStore({ clock, maxKeys: 10 })
  const limiter = createLimiter({ policy, store })
  let granted = 0
  for (let i = 0; i < 6_000; i += 1) {
    clock.advance(0.001)
    if ((await limiter.tryAcquire("k")).allowed) granted += 1
  }
  expect(granted).toBe(5_000)
  await limiter.close()
})

test("an exhausted key outlives logs of which little is spent", async () => {
  const clock = manualClock()
  const store = memoryStore({ clock, maxKeys: 100 })
  const limiter = createLimiter({ policy, store })
  await limiter.tryAcquire("exhausted", { cost: 5_000 })
  for (let i = 0; i < 20_000; i += 1) {
    clock.advance(0.001)
    await limiter.tryAcquire(`junk ${i % 50}`)
  }
  expect((await limiter.tryAcquire("exhausted")).allowed).toBe(false)
  await limiter.close()
})
