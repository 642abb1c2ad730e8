import { execFileSync } from "node:child_process"

/**
 * Random tests run with other seeds at each commit: fewer runs each time find more over time than many runs of the same seeds.
 * `SLUICE_SEED=<number>` repeats a run.
 */
const offset = process.env["SLUICE_SEED"] === undefined ? fromCommit() : Number(process.env["SLUICE_SEED"])

/** The seed of this commit for the test that would otherwise use `seed`. */
export function varied(seed: number): number {
  return seed + offset
}

/** A third of the runs with the seed of this commit. For a planted bug, all runs with a seed that finds it. */
export function sampling(seed: number, numRuns: number, mistake: unknown): { seed: number; numRuns: number } {
  return mistake === undefined ? { seed: varied(seed), numRuns: Math.ceil(numRuns / 3) } : { seed, numRuns }
}

function fromCommit(): number {
  try {
    const hash = execFileSync("git", ["rev-parse", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    })
    return Number.parseInt(hash.slice(0, 5), 16) * 1_000
  } catch {
    // Not a git checkout.
    return 0
  }
}
