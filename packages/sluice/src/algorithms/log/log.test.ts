import { describe, expect, test } from "vitest"
import { held as holding } from "../../../test/support/held.js"
import { fixedWindow, type Policy, slidingLog, slidingWindow } from "../../policy.js"
import { log } from "./log.js"
import type { LogState } from "./log-state.js"

const now = 1_780_000_000_000_000
const ms = 1_000

const held = (policy: Policy) => holding(log, policy)
const entries = (state?: LogState) => (state === undefined ? 0 : state.at.length - state.start - 1)

describe("a sliding log", () => {
  test("counts each unit for exactly one window", () => {
    const key = held(slidingLog({ limit: 3, window: 1_000 }))
    key.spend(now, 2)
    expect(key.spend(now + 300 * ms)).toMatchObject({ granted: 1, remaining: 0, resetAfter: 1_000 })
    expect(key.spend(now + 400 * ms)).toMatchObject({ granted: 0, retryAfter: 600 })
    expect(key.spend(now + 400 * ms, 3)).toMatchObject({ granted: 0, retryAfter: 900 })
    expect(key.spend(now + 1_000 * ms, 2)).toMatchObject({ granted: 1, remaining: 0 })
  })

  test("stores a cost as one entry, and a count of requests too", () => {
    const key = held(slidingLog({ limit: 100, window: 1_000 }))
    key.spend(now, 40)
    expect(key.spend(now + 1, 7, 99)).toMatchObject({ granted: 8, remaining: 4 })
    expect(entries(key.state())).toBe(2)
  })

  test("finds the entry that makes room among many", () => {
    const key = held(slidingLog({ limit: 1_000, window: 1_000 }))
    for (let i = 0; i < 1_000; i += 1) key.spend(now + i * ms)
    for (const cost of [1, 2, 3, 500, 999, 1_000]) {
      expect(key.spend(now + 999 * ms, cost)).toMatchObject({ granted: 0, retryAfter: cost })
    }
  })

  test("removes expired entries and keeps its columns short", () => {
    const key = held(slidingLog({ limit: 10, window: 10 }))
    for (let i = 0; i < 10_000; i += 1) expect(key.spend(now + i * ms).granted).toBe(1)
    expect(entries(key.state())).toBeLessThanOrEqual(11)
    expect(key.state()?.at.length).toBeLessThan(100)
  })

  test("keeps entries that another policy still needs", () => {
    const long = slidingLog({ limit: 100, window: 60_000 })
    const key = held(slidingLog({ limit: 10, window: 10 }))
    key.spend(now, 50, 1, long)
    for (let i = 1; i <= 20; i += 1) key.spend(now + i * 100 * ms)
    expect(key.spend(now + 3_000 * ms, 1, 1, long)).toMatchObject({ remaining: 29 })
    for (let i = 1; i <= 20; i += 1) key.spend(now + (61_000 + i * 100) * ms)
    expect(entries(key.state())).toBeLessThanOrEqual(2)
  })

  test("gives the newest units back first", () => {
    const key = held(slidingLog({ limit: 10, window: 1_000 }))
    for (const at of [0, 100, 200]) key.spend(now + at * ms, 3)
    key.give(now + 300 * ms, 4)
    expect(entries(key.state())).toBe(2)
    expect(key.spend(now + 300 * ms, 6)).toMatchObject({ granted: 0, remaining: 5, retryAfter: 700 })
    expect(key.spend(now + 1_000 * ms, 8)).toMatchObject({ granted: 1, remaining: 0 })
    key.give(now + 1_000 * ms, 11)
    expect(key.spend(now + 1_000 * ms, 10).granted).toBe(1)
  })

  test("forgets a key that got everything back, and gives back at most what was spent", () => {
    const key = held(slidingLog({ limit: 10, window: 1_000 }))
    key.give(now, 1)
    expect(key.state()).toBeUndefined()
    key.spend(now, 3)
    key.give(now, 3)
    expect(key.state()).toBeUndefined()
  })

  test("further ahead than a window counts as spent now", () => {
    const key = held(slidingLog({ limit: 5, window: 1_000 }))
    for (const at of [0, 100, 200]) key.spend(now + at * ms)
    expect(key.spend(now - 800 * ms, 3)).toMatchObject({ granted: 0, remaining: 2, retryAfter: 1_800 })
    expect(key.spend(now - 900 * ms, 3)).toMatchObject({ granted: 0, remaining: 2, retryAfter: 1_000 })
    expect(entries(key.state())).toBe(1)
    expect(key.spend(now - 900 * ms, 2)).toMatchObject({ granted: 1, remaining: 0 })
  })

  test("after a clock jump keeps units that any policy still counted", () => {
    const long = slidingLog({ limit: 100, window: 86_400_000 })
    const key = held(slidingLog({ limit: 1_000, window: 1_000 }))
    key.spend(now, 99, 1, long)
    key.spend(now + 10_000 * ms)
    key.spend(now - 2 * 86_400_000 * ms, 1_000)
    expect(key.spend(now - 2 * 86_400_000 * ms, 2, 1, long)).toMatchObject({ granted: 0, remaining: 0 })
  })

  test("expires with the entries that a refund left", () => {
    const key = held(slidingLog({ limit: 10, window: 60_000 }))
    key.spend(now)
    key.spend(now + 59_000 * ms, 9)
    key.give(now + 59_000 * ms, 9)
    expect(key.expiresAt()).toBe(now + 60_000 * ms)
    const other = held(slidingLog({ limit: 10, window: 10 }))
    other.spend(now, 5)
    other.give(now + 10 * ms, 5)
    expect(other.state()).toBeUndefined()
  })

  test("stays sorted when the clock steps back a little", () => {
    const key = held(slidingLog({ limit: 5, window: 1_000 }))
    key.spend(now)
    expect(key.spend(now - 50 * ms)).toMatchObject({ granted: 1, remaining: 3, resetAfter: 1_050 })
    expect(entries(key.state())).toBe(1)
  })
})

describe("a sliding window", () => {
  test("merges the grants of a sub-window at the time of the newest", () => {
    const key = held(slidingWindow({ limit: 100, window: 1_000, buckets: 4 }))
    for (let i = 0; i < 10; i += 1) key.spend(now + i * 20 * ms)
    expect(entries(key.state())).toBe(1)
    key.spend(now + 260 * ms)
    expect(entries(key.state())).toBe(2)
    expect(key.spend(now + 260 * ms, 90)).toMatchObject({ granted: 0, retryAfter: 920 })
    expect(key.spend(now + 1_180 * ms, 90)).toMatchObject({ granted: 1, remaining: 9 })
  })

  test("never extends the units of a shorter window", () => {
    const coarse = slidingWindow({ limit: 1_000, window: 86_400_000, buckets: 1 })
    const key = held(slidingWindow({ limit: 10, window: 10_000 }))
    key.spend(now, 10)
    for (let i = 1; i < 5; i += 1) key.spend(now + i * 2_000 * ms, 1, 1, coarse)
    expect(key.spend(now + 10_001 * ms, 5)).toMatchObject({ granted: 1 })
  })

  test("keeps at most one entry more than it has buckets", () => {
    const key = held(slidingWindow({ limit: 1_000_000, window: 1_000, buckets: 7 }))
    for (let i = 0; i < 5_000; i += 1) key.spend(now + i * 3 * ms + (i % 7))
    expect(entries(key.state())).toBeLessThanOrEqual(8 + 1)
  })
})

test("other policies are not logs", () => {
  expect(() => log.parameters(fixedWindow({ limit: 1, window: 1 }), 1)).toThrow("fixedWindow is no log")
})
