import { afterAll, beforeAll, describe, test } from "vitest"
import { historyOf, type Operation } from "../support/histories.js"
import { kinds } from "../support/policy-kinds.js"
import { varied } from "../support/seed.js"
import { type Comparison, startComparison } from "./compare.js"

let comparison: Comparison<Operation>
beforeAll(async () => {
  comparison = await startComparison()
})
afterAll(() => comparison.stop())

describe("Lua decides as TypeScript does", () => {
  test.for(kinds.map((kind, i) => [kind, 1_000 + i] as const))("%s", async ([kind, seed]) => {
    await comparison.compare(kind, historyOf(kind), { seed: varied(seed), numRuns: 700 })
  })
})
