import fc from "fast-check"
import { slidingLog, slidingWindow } from "sluice"
import { afterAll, beforeAll, test } from "vitest"
import type { History, Operation } from "../support/histories.js"
import { EPOCH } from "../support/moves.js"
import { type Comparison, startComparison } from "./compare.js"

let comparison: Comparison
beforeAll(async () => {
  comparison = await startComparison()
})
afterAll(() => comparison.stop())

const WINDOW = 1_000
const GREATEST = 1e12

const policies = [
  slidingLog({ limit: 500, window: WINDOW }),
  slidingLog({ limit: 120, window: WINDOW / 10 }),
  slidingWindow({ limit: 500, window: WINDOW, buckets: 400 }),
  slidingWindow({ limit: 120, window: WINDOW / 10, buckets: 60 }),
]

const busy = fc.record({
  // a millisecond or so between grants, now and then most of a window
  gap: fc.oneof(
    { weight: 30, arbitrary: fc.integer({ min: 0, max: 4_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 1_100_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -900_000, max: 0 }) },
  ),
  policy: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
  cost: fc.constantFrom(1, 1, 1, 1, 2, 3, 7, 100, 400),
  call: fc.constantFrom("spend", "spend", "spend", "spend", "spend", "spend", "peek", "giveBack"),
})

const busyHistory = fc
  .tuple(fc.constantFrom(0, 2), fc.array(busy, { minLength: 150, maxLength: 600, size: "max" }))
  .map(([family, steps]): History => {
    let at = EPOCH
    return steps.map(({ gap, policy, cost, call }): Operation => {
      at += gap
      const parts = [{ key: "{parity:busy}:default", policy: policies[family + policy] as never, cost }]
      if (call === "giveBack") return { at, call, parts }
      return { at, call: "ask", ask: { parts, count: 1, mode: call as "spend" | "peek" } }
    })
  })

test("logs of hundreds of entries are searched, merged and cleared away as in TypeScript", async () => {
  await comparison.compare("long logs", busyHistory, { seed: 3_000, numRuns: 200 })
})

const huge = fc.record({
  gap: fc.constantFrom(WINDOW * 1_000, WINDOW * 1_000, WINDOW * 500, 0),
  cost: fc.constantFrom(GREATEST, GREATEST, GREATEST - 1, GREATEST / 2, 1),
  call: fc.constantFrom("spend", "spend", "spend", "spend", "giveBack"),
})

const wrappingHistory = fc
  .array(huge, { minLength: 900, maxLength: 1_000, size: "max" })
  .map((steps): History => {
    const policy = slidingLog({ limit: GREATEST, window: WINDOW })
    let at = EPOCH
    return steps.map(({ gap, cost, call }): Operation => {
      at += gap
      const parts = [{ key: "{parity:huge}:default", policy, cost }]
      if (call === "giveBack") return { at, call, parts }
      return { at, call: "ask", ask: { parts, count: 1, mode: "spend" } }
    })
  })

test("running totals that pass 2^48 go on as in TypeScript", async () => {
  await comparison.compare("wrapping totals", wrappingHistory, { seed: 3_001, numRuns: 20 })
})
