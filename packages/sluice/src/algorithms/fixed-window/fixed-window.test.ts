import { expect, test } from "vitest"
import { held as holding } from "../../../test/support/held.js"
import { fixedWindow as fixedWindowPolicy, type Policy, slidingLog } from "../../policy.js"
import { type FixedWindowState, fixedWindow } from "./fixed-window.js"

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

test("with `align: clock`, windows start at multiples of their length", () => {
  const key = held(fixedWindowPolicy({ limit: 3, window: "1s", align: "clock" }))
  expect(key.spend(now, 3)).toMatchObject({ granted: 1, resetAfter: 750 })
  expect(key.spend(now + 749_999)).toMatchObject({ granted: 0, retryAfter: 1 })
  expect(key.spend(now + 750_000)).toMatchObject({ granted: 1, resetAfter: 1_000 })
})

test("units count for at least the window of their own policy, even if another policy opened it", () => {
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

test("an aligned window ends no sooner than its own policy requires, even if another policy opened it", () => {
  const byTheClock = fixedWindowPolicy({ limit: 10, window: "1s", align: "clock" })
  const key = held(fixedWindowPolicy({ limit: 10, window: 500 }))
  key.spend(now)
  expect(key.spend(now, 1, 1, byTheClock)).toMatchObject({ granted: 1, resetAfter: 750 })
  expect(key.spend(now + 749_000, 9)).toMatchObject({ granted: 0, retryAfter: 1 })
})

test("the rest of an aligned window is not a full window for an unaligned policy", () => {
  const byTheClock = fixedWindowPolicy({ limit: 10, window: "1s", align: "clock" })
  const key = held(byTheClock)
  key.spend(now + 749_000)
  const own = fixedWindowPolicy({ limit: 10, window: "1s" })
  expect(key.spend(now + 749_000, 9, 1, own)).toMatchObject({ granted: 1, resetAfter: 1_000 })
  expect(key.spend(now + 750_000, 1, 1, own)).toMatchObject({ granted: 0, retryAfter: 999 })
})

test("a window further ahead than its length counts as opened now", () => {
  const key = held(fixedWindowPolicy({ limit: 3, window: "1s" }))
  key.spend(now, 3)
  expect(key.spend(now - 1 * seconds)).toMatchObject({ granted: 0, retryAfter: 2_000 })
  expect(key.spend(now - 2 * seconds)).toMatchObject({ granted: 0, retryAfter: 1_000 })
  expect(key.state()).toMatchObject({ expiresAt: now - 1 * seconds, spent: 3 })
})

test("other policies are not fixed windows", () => {
  expect(() => fixedWindow.parameters(slidingLog({ limit: 1, window: 1 }), 1)).toThrow(
    "slidingLog is no fixed window",
  )
})

test("reading a booked window does not change it", () => {
  const parameters = fixedWindow.parameters(fixedWindowPolicy({ limit: 3, window: "1s" }), 1)
  const book = (before?: FixedWindowState) =>
    fixedWindow.take(parameters, fixedWindow.read(parameters, before, now + 1 * seconds), 1, 1 * seconds)
  let state = book()
  for (let times = 0; times < 3; times += 1) {
    const view = fixedWindow.read(parameters, state, now)
    expect(view).toMatchObject({ booked: 1, opensIn: 1 * seconds, spent: 1 + times, reach: 2_000 })
    state = book(state)
  }
})
