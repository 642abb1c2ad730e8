import { expect, test } from "vitest"
import { microseconds, wholeMilliseconds } from "./clock.js"
import { manualClock } from "./testing/manual-clock.js"

test("a clock is read in whole microseconds", () => {
  expect(microseconds(() => 1_780_000_000_000)).toBe(1_780_000_000_000_000)
  expect(microseconds(() => 1.001)).toBe(1_001)
})

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e13, "5", undefined])(
  "a clock never says %s",
  (time) => {
    expect(() => microseconds(() => time as number)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    )
  },
)

test("a clock that throws is reported with its cause", () => {
  const cause = new Error("no time")
  const broken = () => {
    throw cause
  }
  expect(() => microseconds(broken)).toThrow(expect.objectContaining({ code: "INVALID_OPTION", cause }))
})

test("milliseconds are rounded up", () => {
  expect([0, 1, 1_000, 1_001].map(wholeMilliseconds)).toEqual([0, 1, 1, 2])
})

test("a manual clock moves only when it is advanced", () => {
  const clock = manualClock(5)
  clock.advance(2.5)
  expect(clock()).toBe(7.5)
  clock.set(1)
  expect(clock()).toBe(1)
})
