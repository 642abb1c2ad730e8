import fc from "fast-check"
import type { Policy } from "sluice"
import { describe, expect, test } from "vitest"
import { type AnyAlgorithm, countingOf } from "../../src/algorithms/index.js"
import { attempts, grantsOf } from "../support/adversary.js"
import { boundOf, checkBound } from "../support/bounds.js"
import { type Kind, kinds, policyOf } from "../support/policy-kinds.js"
import { reference } from "../support/reference.js"
import { varied } from "../support/seed.js"
import { breakages } from "./breakages.js"

const RUNS = 5_000

type AlgorithmOf = (policy: Policy) => AnyAlgorithm

/** Searches for a history in which a policy of this kind admits more than its bound. */
function search(kind: Kind, seed: number, algorithmOf?: AlgorithmOf) {
  const holds = fc.property(policyOf(kind), attempts, (policy, history) => {
    const [grants = []] = grantsOf(reference(algorithmOf), [policy], history)
    checkBound(boundOf(policy), grants)
  })
  // A planted bug gets more runs, with a seed that finds it.
  return fc.check(
    holds,
    algorithmOf === undefined ? { seed: varied(seed), numRuns: RUNS } : { seed, numRuns: 20_000 },
  )
}

describe("no history admits more than the bound in any span of time", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const found = search(kind, 7)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
    expect(found.numRuns).toBe(RUNS)
  })
})

describe("the search finds an algorithm that admits too much", () => {
  const cases = kinds.flatMap((kind) =>
    breakages(kind).map(({ name, broken }) => [kind, name, broken] as const),
  )
  test.each(cases)("%s: %s", { timeout: 60_000 }, (kind, _, broken) => {
    expect(search(kind, 8, (policy) => broken(countingOf(policy).algorithm)).failed).toBe(true)
  })
})
