import { afterAll, beforeAll, describe, test } from "vitest"
import { kinds } from "../support/policy-kinds.js"
import { varied } from "../support/seed.js"
import {
  playOn,
  type TurnOperation,
  turnHistoryOf,
  turnHistoryOfSeveral,
  turnTwin,
} from "../support/turn-histories.js"
import { type Comparison, startComparison } from "./compare.js"

let comparison: Comparison<TurnOperation>
beforeAll(async () => {
  comparison = await startComparison<TurnOperation>({ twin: turnTwin, on: playOn })
})
afterAll(() => comparison.stop())

describe("Lua books, charges, reserves and gives back as TypeScript does", () => {
  test.for(kinds.map((kind, i) => [kind, 4_000 + i] as const))("%s", async ([kind, seed]) => {
    await comparison.compare(kind, turnHistoryOf(kind), { seed: varied(seed), numRuns: 250 })
  })

  test("under several policies", async () => {
    await comparison.compare("several policies", turnHistoryOfSeveral(), {
      seed: varied(4_100),
      numRuns: 400,
    })
  })
})
