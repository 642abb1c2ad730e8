import { expect, test } from "vitest"
import { plantedBugs } from "./planted-bugs.js"
import { replaying, SEEDS } from "./seeds.js"
import { simulate } from "./simulate.js"

test.skipIf(replaying).for(plantedBugs)("the simulation finds that $name", async (bug) => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { broken } = await simulate(seed, bug)
    if (broken === undefined) continue
    process.stdout.write(`${bug.name}: seed ${seed}, ${broken.law}\n`)
    return
  }
  expect.fail(`none of ${SEEDS} seeds has found that ${bug.name}`)
})
