import { test } from "vitest"
import { runSeeds, seedsOf } from "./seeds.js"

// in two files, for both of the workers
const seeds = seedsOf(1, 2)
const patience = 120_000 + seeds.length * 3_000

test.runIf(seeds.length > 0)(`no law is broken in ${seeds.length} worlds`, () => runSeeds(seeds), patience)
