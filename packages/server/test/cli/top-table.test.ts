import type { TopKeysReport } from "sluice/telemetry"
import { describe, expect, test } from "vitest"
import { topRows } from "../../src/cli/top-table.js"

type Counts = Readonly<Record<string, number>>

function report(limiter: string, busiest: Counts, denied: Counts = {}): TopKeysReport {
  const list = (counts: Counts) => ({
    keys: Object.entries(counts).map(([key, count]) => ({ key, count, error: 0 })),
    total: 0,
    errorBound: 0,
    unlisted: 0,
  })
  return { limiter, busiest: list(busiest), denied: list(denied) }
}

const all = { limiter: undefined, most: 10, asked: 3 }

describe("the rates of top keys", () => {
  test("are differences of two samples, and the highest rate comes first", () => {
    const before = [report("api", { old: 1_000, new: 10 }, { new: 1 })]
    const now = [report("api", { old: 1_002, new: 50 }, { new: 21 })]
    const { busiest, denied } = topRows(now, before, 2, all)
    expect(busiest).toEqual([
      { limiter: "api", key: "new", count: 50, perSecond: 20 },
      { limiter: "api", key: "old", count: 1_002, perSecond: 1 },
    ])
    expect(denied).toEqual([{ limiter: "api", key: "new", count: 21, perSecond: 10 }])
  })

  test("count from zero for a key that a list with room did not have", () => {
    const rows = topRows([report("api", { a: 4, b: 6 })], [report("api", { a: 4 })], 1, all)
    expect(rows.busiest[0]).toMatchObject({ key: "b", perSecond: 6 })
  })

  test("are unknown for a key that a full list did not have, and in the first sample", () => {
    const now = [report("api", { a: 1, b: 2, d: 4 })]
    const rows = topRows(now, [report("api", { a: 1, b: 2, c: 3 })], 1, all)
    expect(rows.busiest.find(({ key }) => key === "d")?.perSecond).toBeUndefined()
    expect(topRows(now, undefined, 1, all).busiest.map(({ perSecond }) => perSecond)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test("are never negative, although a restarted server counts from zero", () => {
    const rows = topRows([report("api", { a: 1 })], [report("api", { a: 100 })], 1, all)
    expect(rows.busiest[0]?.perSecond).toBe(0)
  })

  test("are of one limiter if it is named, and equal keys of two limiters stay apart", () => {
    const [before, now] = [
      [report("api", { a: 1 }), report("web", { a: 5 })],
      [report("api", { a: 2 }), report("web", { a: 9 })],
    ]
    expect(topRows(now, before, 1, all).busiest.map(({ perSecond }) => perSecond)).toEqual([4, 1])
    expect(topRows(now, before, 1, { ...all, limiter: "api" }).busiest).toEqual([
      { limiter: "api", key: "a", count: 2, perSecond: 1 },
    ])
  })
})
