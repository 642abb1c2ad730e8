import { createLimiter, fixedWindow } from "sluice"
import { mergeTopKeys, topKeys } from "sluice/telemetry"
import { expect, onTestFinished, test } from "vitest"
import { SpaceSaving } from "../../src/telemetry/space-saving.js"
import { dice } from "../support/dice.js"

test("on Zipf traffic over a million keys the sketch finds the true top twenty within its error, in bounded memory", () => {
  const KEYS = 1_000_000
  const harmonic = new Float64Array(KEYS)
  for (let i = 0, sum = 0; i < KEYS; i += 1) {
    sum += 1 / (i + 1)
    harmonic[i] = sum
  }
  const roll = dice(7)
  const random = () => (roll(4_096) * 2 ** 11 + roll(2_048)) / 2 ** 23
  const pick = () => {
    const at = random() * (harmonic[KEYS - 1] as number)
    let low = 0
    let high = KEYS - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((harmonic[middle] as number) < at) low = middle + 1
      else high = middle
    }
    return low
  }
  const truth = new Uint32Array(KEYS)
  const sketch = new SpaceSaving(2_000)
  for (let i = 0; i < 1_000_000; i += 1) {
    const key = pick()
    truth[key] = (truth[key] as number) + 1
    sketch.add(`k${key}`)
  }
  expect(sketch.size).toBe(2_000)
  expect(sketch.errorBound).toBeLessThanOrEqual(500)
  const byTruth = Array.from(truth.keys()).sort((a, b) => (truth[b] as number) - (truth[a] as number))
  const top = sketch.top(20)
  for (const { key, count, error } of sketch.top(2_000)) {
    const real = truth[Number(key.slice(1))] as number
    expect(real).toBeLessThanOrEqual(count)
    expect(real).toBeGreaterThanOrEqual(count - error)
    expect(error).toBeLessThanOrEqual(sketch.errorBound)
  }
  const least = truth[byTruth[19] as number] as number
  for (const { key } of top) {
    expect(truth[Number(key.slice(1))]).toBeGreaterThanOrEqual(least - sketch.errorBound)
  }
  expect(new Set(top.map(({ key }) => key)).size).toBe(20)
  for (const key of byTruth.slice(0, 15)) expect(top.map((each) => each.key)).toContain(`k${key}`)
})

test("top keys counts requests and denials by limiter, masks keys, and merges processes", async () => {
  const top = topKeys({ mask: (key) => key.slice(0, 2) })
  onTestFinished(() => top.stop())
  const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 2, window: "1m" }) })
  for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("annabel")
  await limiter.tryAcquire("bob")
  const report = top.report()
  expect(report).toEqual([
    {
      limiter: "api",
      busiest: {
        keys: [
          { key: "an", count: 5, error: 0 },
          { key: "bo", count: 1, error: 0 },
        ],
        total: 6,
        errorBound: 0,
      },
      denied: { keys: [{ key: "an", count: 3, error: 0 }], total: 3, errorBound: 0 },
    },
  ])
  expect(mergeTopKeys([report, report], 1)[0]?.busiest).toEqual({
    keys: [{ key: "an", count: 10, error: 0 }],
    total: 12,
    errorBound: 0,
  })
})
