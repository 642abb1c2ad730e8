import { expect, test, vi } from "vitest"
import { stretchAtHand } from "./stretch.js"

test("all of a stretch share two readings of the clock, and the next has its own", async () => {
  const read = vi.spyOn(performance, "now")
  const first = stretchAtHand()
  for (let i = 0; i < 100; i += 1) expect(stretchAtHand()).toBe(first)
  await undefined
  expect(read).toHaveBeenCalledTimes(2)
  const second = stretchAtHand()
  expect(second).not.toBe(first)
  await undefined
  expect(read).toHaveBeenCalledTimes(4)
  read.mockRestore()
})

test("a stretch begins no later than what asks for it, and ends behind the code at hand", async () => {
  const before = performance.now()
  const stretch = stretchAtHand()
  expect(stretch.beganAt).toBeGreaterThanOrEqual(before)
  expect(stretch.beganAt).toBeLessThanOrEqual(performance.now())
  expect(stretch.endedAt).toBe(Number.POSITIVE_INFINITY)
  const until = performance.now() + 5
  while (performance.now() < until);
  await undefined
  expect(stretch.endedAt).toBeGreaterThanOrEqual(until)
  expect(stretch.endedAt).toBeLessThanOrEqual(performance.now())
})
