import { expect } from "vitest"
import { varied } from "../support/seed.js"
import { type Run, simulate } from "./simulate.js"
import type { Bug } from "./world.js"

const env = (name: string) => (process.env[name] === undefined ? undefined : Number(process.env[name]))

/** How many seeds are run, unless `SIM_SEEDS` says otherwise. */
export const SEEDS = 200

/** Whether one seed is run again, and nothing else is wanted. */
export const replaying = env("SIM_SEED") !== undefined

/**
 * The seeds of one of several parts: all those from `SIM_FROM` on, `SIM_SEEDS` of them, dealt out in turns; or `SIM_SEED`
 * alone, which falls to the first part.
 */
export function seedsOf(policy: number, policies: number): number[] {
  const only = env("SIM_SEED")
  if (only !== undefined) return policy === 0 ? [only] : []
  const from = env("SIM_FROM") ?? varied(1)
  const count = env("SIM_SEEDS") ?? SEEDS
  return Array.from({ length: count }, (_, i) => from + i).filter((seed) => seed % policies === policy)
}

/** Runs seeds one after the other; fails with the first that breaks a law. */
export async function runSeeds(seeds: readonly number[], bug: Bug = {}): Promise<void> {
  for (const seed of seeds) {
    const run = await simulate(seed, bug)
    if (env("SIM_TRACE") !== undefined) process.stdout.write(`${run.lines.join("\n")}\n`)
    if (run.broken !== undefined) expect.fail(report(seed, run))
  }
}

/** What broke, how to see it again, and what had happened right before. */
function report(seed: number, { broken, lines, simulatedHours }: Run): string {
  return [
    `seed ${seed} breaks a law after ${simulatedHours.toFixed(2)} simulated hours: ${broken?.law}`,
    `  ${broken?.what}`,
    `again, with all that happened: SIM_SEED=${seed} SIM_TRACE=1 npx vitest run packages/sluice/test/simulation`,
    ...lines.slice(-60),
  ].join("\n")
}
