import { test } from "vitest"
import { runSeeds, seedsOf } from "./seeds.js"

// in two files, for both of the workers
const seeds = seedsOf(1, 2)

test.runIf(seeds.length > 0)(`no law is broken in ${seeds.length} worlds`, () => runSeeds(seeds), 600_000)
