import { describe, expect, test } from "vitest"
import { SluiceError } from "./errors.js"
import {
  checkPolicy,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
  windowOf,
} from "./policy.js"

const refusal = (make: () => unknown) => {
  try {
    make()
  } catch (error) {
    if (error instanceof SluiceError) return `${error.code}: ${error.message}`
  }
  return "accepted"
}

describe("a policy", () => {
  test("is a plain frozen value with its durations in milliseconds", () => {
    const policy = tokenBucket({ capacity: 100, refill: 10, every: "1s" })
    expect(policy).toEqual({
      algorithm: "tokenBucket",
      capacity: 100,
      refill: 10,
      every: 1_000,
      mode: "continuous",
    })
    expect(Object.isFrozen(policy)).toBe(true)
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy)
    expect(fixedWindow({ limit: 1, window: "5m" })).toMatchObject({ window: 300_000, align: "first" })
    expect(slidingLog({ limit: 1, window: "1h" })).toMatchObject({ window: 3_600_000 })
    expect(slidingWindow({ limit: 1, window: "250ms" })).toMatchObject({ window: 250, buckets: 10 })
    expect(leakyBucket({ capacity: 1, leak: 1, every: "1d" })).toMatchObject({ every: 86_400_000 })
  })

  test.each([
    0,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    1e12 + 1,
    "5",
    5n,
    null,
    undefined,
    {},
  ])("never has a limit of %s", (value) => {
    const bad = value as number
    for (const make of [
      () => fixedWindow({ limit: bad, window: 1 }),
      () => slidingLog({ limit: bad, window: 1 }),
      () => slidingWindow({ limit: bad, window: 1 }),
      () => tokenBucket({ capacity: bad, refill: 1, every: 1 }),
      () => tokenBucket({ capacity: 1, refill: bad, every: 1 }),
      () => leakyBucket({ capacity: bad, leak: 1, every: 1 }),
      () => leakyBucket({ capacity: 1, leak: bad, every: 1 }),
    ]) {
      expect(refusal(make)).toMatch(
        /^INVALID_POLICY: (limit|capacity|refill|leak) must be an integer from 1 to 1e\+12, got/,
      )
    }
  })

  test.each([
    0,
    -1,
    0.5,
    Number.NaN,
    315_619_200_001,
    "",
    "10",
    "1  s",
    "1.5s",
    "-1s",
    "1w",
    "s",
    "1e3s",
    "9999999999d",
    null,
    [],
  ])("never has a window of %s", (value) => {
    const bad = value as number
    for (const make of [
      () => fixedWindow({ limit: 1, window: bad }),
      () => slidingLog({ limit: 1, window: bad }),
      () => slidingWindow({ limit: 1, window: bad }),
      () => tokenBucket({ capacity: 1, refill: 1, every: bad }),
      () => leakyBucket({ capacity: 1, leak: 1, every: bad }),
    ]) {
      expect(refusal(make)).toMatch(
        /^INVALID_POLICY: (window|every) must be whole milliseconds or a string like/,
      )
    }
  })

  test("rejects unknown fields, unknown modes and missing parameters", () => {
    const loose = (value: unknown) => value as never
    expect(refusal(() => fixedWindow(loose({ limit: 1, window: 1, windowMs: 1 })))).toBe(
      'INVALID_POLICY: fixedWindow has no field "windowMs"; it takes limit, window, align',
    )
    expect(refusal(() => fixedWindow(loose({ limit: 1, window: 1, align: "utc" })))).toBe(
      'INVALID_POLICY: align must be one of "first", "clock", got "utc"',
    )
    expect(refusal(() => tokenBucket(loose({ capacity: 1, refill: 1, every: 1, mode: 1 })))).toMatch(
      /mode must be/,
    )
    expect(refusal(() => slidingWindow({ limit: 1, window: 1, buckets: 0 }))).toMatch(
      /buckets must be an integer/,
    )
    expect(refusal(() => slidingWindow({ limit: 1, window: 1, buckets: 1_001 }))).toMatch(/buckets must be/)
    expect(refusal(() => slidingLog(loose(undefined)))).toBe(
      "INVALID_POLICY: slidingLog must be an object, got undefined",
    )
  })

  test("whose bucket takes more than ten years to fill is rejected with the reason", () => {
    expect(refusal(() => tokenBucket({ capacity: 11, refill: 1, every: "366d" }))).toMatch(
      /more than ten years/,
    )
    expect(refusal(() => leakyBucket({ capacity: 1e12, leak: 1, every: "1s" }))).toMatch(
      /more than ten years/,
    )
    expect(refusal(() => tokenBucket({ capacity: 10, refill: 1, every: "365d" }))).toBe("accepted")
  })

  test.each([
    [1_234_567, "1d"],
    [999_983, "30d"],
    [10_000_000, "1s"],
    [700_000, "1s"],
    [3, "7ms"],
    [16, "10s"],
    [1e12, "3653d"],
    [1, 1],
  ] as const)("of %d units in %s is accepted", (units, duration) => {
    for (const make of [
      () => fixedWindow({ limit: units, window: duration }),
      () => slidingLog({ limit: units, window: duration }),
      () => slidingWindow({ limit: units, window: duration, buckets: 1_000 }),
      () => tokenBucket({ capacity: units, refill: units, every: duration }),
      () => tokenBucket({ capacity: units, refill: units, every: duration, mode: "interval" }),
      () => leakyBucket({ capacity: units, leak: units, every: duration }),
    ]) {
      expect(refusal(make)).toBe("accepted")
    }
  })
})

describe("an object with an algorithm", () => {
  test("is used unchanged if a factory made it", () => {
    const policy = slidingLog({ limit: 1, window: 1 })
    expect(checkPolicy(policy)).toBe(policy)
  })

  test("is validated by the same rules if it came from elsewhere", () => {
    const parsed = JSON.parse('{ "algorithm": "fixedWindow", "limit": 5, "window": "10s" }') as Policy
    expect(checkPolicy(parsed)).toEqual(fixedWindow({ limit: 5, window: "10s" }))
    expect(refusal(() => checkPolicy({ ...parsed, limit: 0 }))).toMatch(/limit must be/)
    expect(refusal(() => checkPolicy({ algorithm: "toString" }))).toMatch(
      /algorithm must be one of fixedWindow, /,
    )
    expect(refusal(() => checkPolicy({ limit: 5 }))).toMatch(
      /a policy is made by fixedWindow, .*; got an object/,
    )
    expect(refusal(() => checkPolicy(() => parsed))).toMatch(/got a function/)
  })
})

describe("the window of a policy", () => {
  test.each([
    [fixedWindow({ limit: 5, window: "1m" }), 60_000],
    [slidingLog({ limit: 5, window: "250ms" }), 250],
    [slidingWindow({ limit: 5, window: "10s", buckets: 3 }), 10_000],
    [tokenBucket({ capacity: 100, refill: 10, every: "1s" }), 10_000],
    [tokenBucket({ capacity: 10, refill: 3, every: 1 }), 4],
    [tokenBucket({ capacity: 10, refill: 3, every: "1s", mode: "interval" }), 4_000],
    [leakyBucket({ capacity: 7, leak: 3, every: "1s" }), 2_334],
    [tokenBucket({ capacity: 1e12, refill: 999_999_999_999, every: "3650d" }), 315_360_000_001],
  ])("of %o is %d ms", (policy, ms) => {
    expect(windowOf(policy)).toBe(ms)
  })
})
