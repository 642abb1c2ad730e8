import { expect, test } from "vitest"
import { held as holding } from "../../../test/support/held.js"
import { zeros } from "../../algorithm.js"
import { fixedWindow as fixedWindowPolicy, type Policy, slidingLog } from "../../policy.js"
import { fixedWindow } from "./fixed-window.js"
import { STOP, USED } from "./fixed-window-state.js"

const now = 1_780_000_000_250_000
const seconds = 1_000_000

const held = (policy: Policy) => holding(fixedWindow, policy)

test("a window opens with its first use and ends a window later", () => {
  const key = held(fixedWindowPolicy({ limit: 3, window: "1s" }))
  expect(key.spend(now, 2)).toMatchObject({ granted: 1, remaining: 1, resetAfter: 1_000 })
  expect(key.spend(now + 400_000, 2)).toMatchObject({ granted: 0, remaining: 1, retryAfter: 600 })
  expect(key.spend(now + 400_000, 1, 5)).toMatchObject({ granted: 1, remaining: 0 })
  expect(key.spend(now + 1 * seconds, 3)).toMatchObject({ granted: 1, remaining: 0, resetAfter: 1_000 })
})

test("by the clock, windows are cut at multiples of their length", () => {
  const key = held(fixedWindowPolicy({ limit: 3, window: "1s", align: "clock" }))
  expect(key.spend(now, 3)).toMatchObject({ granted: 1, resetAfter: 750 })
  expect(key.spend(now + 749_999)).toMatchObject({ granted: 0, retryAfter: 1 })
  expect(key.spend(now + 750_000)).toMatchObject({ granted: 1, resetAfter: 1_000 })
})

test("units count for at least the window they were granted under, whoever opened it", () => {
  const long = fixedWindowPolicy({ limit: 10, window: "1m" })
  const short = fixedWindowPolicy({ limit: 10, window: "1s" })
  const opened = held(short)
  opened.spend(now)
  expect(opened.spend(now + 500_000, 9, 1, long)).toMatchObject({ granted: 1, resetAfter: 60_000 })
  expect(opened.spend(now + 2 * seconds)).toMatchObject({ granted: 0, retryAfter: 58_500 })
  const kept = held(long)
  kept.spend(now)
  expect(kept.spend(now + seconds, 1, 1, short)).toMatchObject({ granted: 1, resetAfter: 59_000 })
})

test("a window by the clock ends no sooner than its own, whoever opened it", () => {
  const byTheClock = fixedWindowPolicy({ limit: 10, window: "1s", align: "clock" })
  const key = held(fixedWindowPolicy({ limit: 10, window: 500 }))
  key.spend(now)
  expect(key.spend(now, 1, 1, byTheClock)).toMatchObject({ granted: 1, resetAfter: 750 })
  expect(key.spend(now + 749_000, 9)).toMatchObject({ granted: 0, retryAfter: 1 })
})

test("the rest of a window by the clock is no window for one from first use", () => {
  const byTheClock = fixedWindowPolicy({ limit: 10, window: "1s", align: "clock" })
  const key = held(byTheClock)
  key.spend(now + 749_000)
  const own = fixedWindowPolicy({ limit: 10, window: "1s" })
  expect(key.spend(now + 749_000, 9, 1, own)).toMatchObject({ granted: 1, resetAfter: 1_000 })
  expect(key.spend(now + 750_000, 1, 1, own)).toMatchObject({ granted: 0, retryAfter: 999 })
})

test("a window further ahead than it reaches counts as opened now", () => {
  const key = held(fixedWindowPolicy({ limit: 3, window: "1s" }))
  key.spend(now, 3)
  expect(key.spend(now - 1 * seconds)).toMatchObject({ granted: 0, retryAfter: 2_000 })
  expect(key.spend(now - 2 * seconds)).toMatchObject({ granted: 0, retryAfter: 1_000 })
  expect(key.cells()?.near[STOP]).toBe(now - 1 * seconds)
  expect(key.cells()?.near[USED]).toBe(3)
})

test("other policies are no fixed windows", () => {
  expect(() => fixedWindow.terms(slidingLog({ limit: 1, window: 1 }), 1)).toThrow(
    "slidingLog is no fixed window",
  )
})

test("a window that was booked is read as it was written, however often", () => {
  const terms = fixedWindow.terms(fixedWindowPolicy({ limit: 3, window: "1s" }), 1)
  const cells = zeros()
  fixedWindow.take(terms, fixedWindow.read(terms, undefined, 0, now + 1 * seconds), 1, cells, 0, 1 * seconds)
  for (let times = 0; times < 3; times += 1) {
    const view = fixedWindow.read(terms, cells, 0, now)
    expect(view).toMatchObject({ booked: 1, opens: 1 * seconds, used: 1 + times, reach: 2_000 })
    fixedWindow.take(terms, fixedWindow.read(terms, cells, 0, now + 1 * seconds), 1, cells, 0, 1 * seconds)
  }
})
