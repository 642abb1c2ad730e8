import { expect, test } from "vitest"
import { plantedBugs } from "./planted-bugs.js"
import { replaying, runSeeds, SEEDS } from "./seeds.js"
import { simulate } from "./simulate.js"

test.skipIf(replaying).for(plantedBugs)("the simulation finds that $name", async (bug) => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { broken } = await simulate(seed, bug)
    if (broken === undefined || (bug.law ?? broken.law) !== broken.law) continue
    process.stdout.write(`${bug.name}: seed ${seed}, ${broken.law}\n`)
    return
  }
  expect.fail(`none of ${SEEDS} seeds has found that ${bug.name}`)
})

test.skipIf(replaying)(
  "a failure names the law and the seed, says how to see it again, and what came before",
  async () => {
    const [bug] = plantedBugs
    const failed = runSeeds([1, 2, 3, 4], bug)
    await expect(failed).rejects.toThrow(/^seed \d breaks a law .*: what may have run is never sent again\n/)
    await expect(failed).rejects.toThrow(
      /SIM_SEED=\d SIM_TRACE=1 npx vitest run packages\/sluice\/test\/simulation\n/,
    )
    await expect(failed).rejects.toThrow(/\n\d+\.\d{6} p\d \w+ try /)
  },
)
