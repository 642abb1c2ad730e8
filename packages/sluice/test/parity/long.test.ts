import fc from "fast-check"
import { type Policy, slidingLog, slidingWindow } from "sluice"
import { type Mode, policyRef } from "sluice/store"
import { afterAll, beforeAll, test } from "vitest"
import { type History, historyUnder, type Operation } from "../support/histories.js"
import { EPOCH } from "../support/moves.js"
import { slowPolicies } from "../support/policy-kinds.js"
import { varied } from "../support/seed.js"
import { type Comparison, startComparison } from "./compare.js"

let comparison: Comparison<Operation>
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
  // About a millisecond between grants, and sometimes most of a window.
  gap: fc.oneof(
    { weight: 60, arbitrary: fc.integer({ min: 0, max: 4_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 1_100_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -20_000, max: 0 }) },
  ),
  policy: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
  cost: fc.oneof(
    { weight: 40, arbitrary: fc.constant(1) },
    { weight: 4, arbitrary: fc.integer({ min: 2, max: 7 }) },
    { weight: 1, arbitrary: fc.integer({ min: 50, max: 400 }) },
  ),
  call: fc.constantFrom("spend", "spend", "spend", "spend", "spend", "spend", "peek", "giveBack"),
})

const busyHistory = fc
  .tuple(fc.constantFrom(0, 2), fc.array(busy, { minLength: 150, maxLength: 600, size: "max" }))
  .map(([family, steps]): History => {
    let at = EPOCH
    return steps.map(({ gap, policy, cost, call }): Operation => {
      at += gap
      const requests = [
        {
          ref: policyRef("parity", "default"),
          key: "busy",
          policy: policies[family + policy] as Policy,
          cost,
        },
      ]
      if (call === "giveBack") return { at, call, policies: requests, debitedAt: undefined }
      return { at, call: "ask", ask: { policies: requests, count: 1, mode: call as Mode } }
    })
  })

test("logs of hundreds of entries are searched, merged and pruned as in TypeScript", async () => {
  await comparison.compare("long logs", busyHistory, { seed: varied(3_000), numRuns: 80 })
})

const clearing = fc.record({
  entries: fc.integer({ min: 30, max: 150 }),
  expired: fc.integer({ min: 25, max: 150 }),
  back: fc.integer({ min: 0, max: 150 }),
})

/** One grant per millisecond, one more after some have expired, and a peek at a time before that. */
const clearedHistory = clearing.map(({ entries, expired, back }): History => {
  const requests = [
    { ref: policyRef("parity", "default"), key: "cleared", policy: policies[0] as Policy, cost: 1 },
  ]
  const ask = (at: number, mode: Mode): Operation => ({
    at,
    call: "ask",
    ask: { policies: requests, count: 1, mode },
  })
  const later = EPOCH + (WINDOW + Math.min(expired, entries)) * 1_000
  const grants = Array.from({ length: entries }, (_, i) => ask(EPOCH + i * 1_000, "spend"))
  return [...grants, ask(later, "spend"), ask(later - back * 1_000, "peek")]
})

test("as many entries are pruned at a time as in TypeScript", async () => {
  await comparison.compare("cleared logs", clearedHistory, { seed: varied(3_003), numRuns: 80 })
})

const huge = fc.record({
  gap: fc.constantFrom(WINDOW * 1_000, WINDOW * 1_000, WINDOW * 500, 0),
  cost: fc.constantFrom(GREATEST, GREATEST / 2, GREATEST / 2 - 1, GREATEST / 4),
  call: fc.constantFrom("spend", "spend", "spend", "spend", "giveBack"),
})

const wrappingHistory = fc
  .array(huge, { minLength: 900, maxLength: 1_000, size: "max" })
  .map((steps): History => {
    const policy = slidingLog({ limit: GREATEST, window: WINDOW })
    const stateRef = { ref: policyRef("parity", "default"), key: "huge" }
    let at = EPOCH
    return steps.map(({ gap, cost, call }): Operation => {
      // One unit of many, and at once: a log that is given back completely, or has expired, starts again.
      if (call === "giveBack")
        return { at, call, policies: [{ ...stateRef, policy, cost: 1 }], debitedAt: undefined }
      at += gap
      return { at, call: "ask", ask: { policies: [{ ...stateRef, policy, cost }], count: 1, mode: "spend" } }
    })
  })

test("running totals wrap around at 2^48 as in TypeScript", async () => {
  await comparison.compare("wrapping totals", wrappingHistory, { seed: 3_001, numRuns: 20 })
})

test("buckets that fill for years are counted as in TypeScript", async () => {
  const slow = fc.constantFrom(...slowPolicies("tokenBucket continuous")).map((policy) => [policy])
  await comparison.compare("slow buckets", historyUnder(slow), { seed: varied(3_002), numRuns: 700 })
})
