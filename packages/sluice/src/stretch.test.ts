import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { anew, byStretch, stretchAtHand } from "./stretch.js"

let now = 1_000
const read = vi.spyOn(performance, "now")
beforeEach(() => {
  read.mockClear()
  read.mockImplementation(() => now)
})
afterEach(async () => {
  await undefined
})

test("time stands still in a stretch, by one reading of the clock, and goes on in the next", async () => {
  const first = now
  for (let i = 0; i < 100; i += 1) {
    expect(byStretch()).toBe(first)
    now += 1
  }
  expect(read).toHaveBeenCalledTimes(1)
  await undefined
  expect(byStretch()).toBe(first + 100)
  expect(read).toHaveBeenCalledTimes(2)
})

test("what is queued before a stretch begins belongs to it, and what is queued in it does not", async () => {
  const seen: string[] = []
  const look = async (name: string) => {
    await undefined
    seen.push(`${name} ${byStretch() - first}`)
    now += 1
  }
  const first = now
  await Promise.all([look("a"), look("b").then(() => look("b again")), look("c")])
  expect(seen).toEqual(["a 0", "b 0", "c 0", "b again 3"])
})

test("a clock that is read anew is read for the rest of the stretch", async () => {
  const first = byStretch()
  now += 5
  expect(byStretch()).toBe(first)
  expect(anew()).toBe(first + 5)
  now += 5
  expect(byStretch()).toBe(first + 5)
  await undefined
  expect(byStretch()).toBe(first + 10)
})

test("all that count from the end of a stretch share a reading, behind the code at hand", async () => {
  const stretch = stretchAtHand()
  for (let i = 0; i < 100; i += 1) expect(stretchAtHand()).toBe(stretch)
  expect(stretch.endedAt).toBe(Number.POSITIVE_INFINITY)
  now += 5
  await undefined
  expect(stretch.endedAt).toBe(now)
  expect(read).toHaveBeenCalledTimes(1)
  expect(stretchAtHand()).not.toBe(stretch)
})
