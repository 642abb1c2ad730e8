import { describe, expect, test } from "vitest"
import { progressText } from "../../src/cli/progress.js"
import { KeyCounts } from "../../src/simulate/key-counts.js"
import { parseTime } from "../../src/simulate/parse-time.js"
import { Timeline } from "../../src/simulate/timeline.js"

describe("parseTime", () => {
  const moment = Date.UTC(2026, 9, 10, 13, 55, 36)
  test.each([
    ["10/Oct/2026:13:55:36 +0000", moment],
    ["10/Oct/2026:15:55:36 +0200", moment],
    ["10/Oct/2026:06:25:36 -0730", moment],
    ["2026-10-10T13:55:36Z", moment],
    ["2026-10-10 13:55:36", moment],
    ["2026-10-10T13:55:36.250+00:00", moment + 250],
    ["2026-10-10 15:55:36,250 +0200", moment + 250],
    [`${moment / 1_000}`, moment],
    [`${moment / 1_000}.5`, moment + 500],
    [moment / 1_000, moment],
    [moment, moment],
    [moment * 1_000, moment],
    [moment * 1_000_000, moment],
  ])("%s is understood", (text, expected) => {
    expect(parseTime(text)).toBe(expected)
  })

  test.each([
    "",
    "yesterday",
    "10/Foo/2026:13:55:36 +0000",
    "10/Oct/2026",
    "-5",
    "2026-13-40T00:00:00Z",
    Number.NaN,
    -1,
  ])("%s is no time", (text) => {
    expect(parseTime(text)).toBeNaN()
  })
})

describe("Timeline", () => {
  test("keeps all counts while its columns become wider", () => {
    const timeline = new Timeline()
    for (let second = 0; second < 1_000; second += 1) timeline.add(second * 1_000, second % 4 === 0)
    const { width, requests, denied } = timeline.report()
    expect(width).toBe(32_000)
    expect(requests.length).toBe(32)
    expect(requests.reduce((a, b) => a + b)).toBe(1_000)
    expect(denied.reduce((a, b) => a + b)).toBe(250)
    expect(requests[0]).toBe(32)
  })

  test("a gap of a year costs nothing", () => {
    const timeline = new Timeline()
    timeline.add(0, true)
    timeline.add(31_536_000_000, false)
    const { requests, denied } = timeline.report()
    expect([requests[0], requests.at(-1), denied[0]]).toEqual([1, 1, 1])
    expect(requests.length).toBeLessThanOrEqual(60)
  })
})

describe("KeyCounts", () => {
  test("forgets keys that were not used for long, and says so", () => {
    const counts = new KeyCounts(10)
    for (let i = 0; i < 100; i += 1) {
      counts.add("busy", i * 1_000, true)
      counts.add(`rare ${i}`, i * 1_000, false)
    }
    expect(counts.mostDenied(5)).toMatchObject([{ key: "busy", requests: 100, denied: 100, peak: 1 }])
    expect(counts.hasForgotten).toBe(true)
  })
})

test("the progress line names bytes, speed and the time left", () => {
  expect(progressText(250_000_000, 1_000_000_000, 1_500_000, 5_000)).toBe(
    "250.0 MB of 1.0 GB (25 %), 300,000 lines/s, 15 s left",
  )
  expect(progressText(250_000_000, undefined, 1_500_000, 5_000)).toBe("250.0 MB, 300,000 lines/s")
})
