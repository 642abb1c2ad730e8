// A test of your own limits that does not wait: the clock moves only when the test says so.
import { createLimiter, fixedWindow, memoryStore } from "sluice"
import { manualClock } from "sluice/testing"
import { expect, test } from "vitest"

test("a customer has 5 messages an hour", async () => {
  const clock = manualClock()
  const limiter = createLimiter({
    policy: fixedWindow({ limit: 5, window: "1h" }),
    store: memoryStore({ clock }),
  })
  const send = async () => (await limiter.tryAcquire("customer")).allowed

  for (let i = 0; i < 5; i += 1) expect(await send()).toBe(true)
  expect(await send()).toBe(false)

  clock.advance(60 * 60 * 1_000 - 1)
  expect(await send()).toBe(false)
  clock.advance(1)
  expect(await send()).toBe(true)
})
