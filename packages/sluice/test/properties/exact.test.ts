import fc from "fast-check"
import { type Policy, slidingLog, slidingWindow } from "sluice"
import { afterAll, describe, test } from "vitest"
import { awkwardPolicies, kinds, policyOf, slowPolicies } from "../support/policy-kinds.js"
import { varied } from "../support/seed.js"
import { compareExactly, type Step, stepsOf } from "./compare-exactly.js"

/** Fewer runs, because long histories take very long to shrink. */
const MANY = 100

let compared = 0
afterAll(() => console.log(`compared ${compared} steps with exact arithmetic`))

function check(
  policies: fc.Arbitrary<Policy>,
  steps: fc.Arbitrary<Step[]>,
  seed: number,
  numRuns: number,
): void {
  const holds = fc.property(policies, steps, (policy, history) => {
    compared += compareExactly(policy, history)
  })
  fc.assert(holds, { seed: varied(seed), numRuns, endOnFailure: numRuns < MANY })
}

describe("after any history the algorithm agrees with exact arithmetic", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    check(policyOf(kind), stepsOf(10, 40), 5, 400)
  })

  test.each(kinds)("%s at awkward rates", { timeout: 60_000 }, (kind) => {
    const policies = awkwardPolicies(kind)
    check(fc.constantFrom(...policies), stepsOf(10, 40), 6, 15 * policies.length)
  })

  test("buckets that fill for years", { timeout: 60_000 }, () => {
    check(fc.constantFrom(...kinds.flatMap(slowPolicies)), stepsOf(10, 40), 7, 300)
  })

  test("a log of many entries", { timeout: 60_000 }, () => {
    const policies = fc.constantFrom(
      slidingLog({ limit: 200, window: "1s" }),
      slidingWindow({ limit: 200, window: "1s", buckets: 90 }),
    )
    check(policies, stepsOf(300, 500), 8, 20)
  })

  test("a log whose running total passes 2^48", { timeout: 60_000 }, () => {
    check(fc.constant(slidingLog({ limit: 1e12, window: "7ms" })), stepsOf(5_000, 5_000), 9, 2)
  })
})
