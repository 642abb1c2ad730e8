import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { soon } from "./later.js"
import { anewBy, byStretch, stretchAtHand } from "./stretch.js"

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
  for (let i = 0; i < 32; i += 1) {
    expect(byStretch()).toBe(first)
    now += 1
  }
  expect(read).toHaveBeenCalledTimes(1)
  await undefined
  expect(byStretch()).toBe(first + 32)
  expect(read).toHaveBeenCalledTimes(2)
})

test("nor does it stand still for longer than 32 who ask, who may be busy between", () => {
  const first = now
  const seen = Array.from({ length: 100 }, () => {
    now += 1
    return byStretch() - first - 1
  })
  expect(seen).toEqual(seen.map((_, i) => i - (i % 32)))
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
  expect(anewBy(byStretch)()).toBe(first + 5)
  now += 5
  expect(byStretch()).toBe(first + 5)
  await undefined
  expect(byStretch()).toBe(first + 10)
  const other = () => 7
  expect(anewBy(other)).toBe(other)
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

/** Has the next stretch fail to begin, as where a caller has used the stack up, and catches that. */
function failToBegin(begin: () => unknown): void {
  vi.spyOn(soon, "then").mockImplementationOnce(() => {
    throw new RangeError("Maximum call stack size exceeded")
  })
  expect(begin).toThrow(RangeError)
  now += 5
}

test("a stretch that cannot be ended is not begun", async () => {
  failToBegin(stretchAtHand)
  const stretch = stretchAtHand()
  await undefined
  expect(stretch.endedAt).toBe(now)
  failToBegin(byStretch)
  expect(byStretch()).toBe(now)
  now += 5
  await undefined
  expect(byStretch()).toBe(now)
})
