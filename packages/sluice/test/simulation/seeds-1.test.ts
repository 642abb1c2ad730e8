import { test } from "vitest"
import { replaying, runSeeds, seedsOf } from "./seeds.js"

// in two files, for both of the workers
const seeds = seedsOf(0, 2)
const patience = 120_000 + seeds.length * 3_000

test.runIf(seeds.length > 0)(`no law is broken in ${seeds.length} worlds`, () => runSeeds(seeds), patience)

// 1111311: one process spends, another one resets, and the clock of the first is ahead.
// 38531138: turns are given up in a window and in the one before it. A request must get the earlier one.
// 405369106: one shard of a Cluster fails five times in a row. Before the fifth time, the circuit of another shard closes.
// 583967100: a bucket by intervals with a gap, whose steps are counted from another moment than those of the last turn.
// 700000188: a restart forgets who has booked a turn that was given back, so two callers go by it.
test.skipIf(replaying).for([1_111_311, 38_531_138, 405_369_106, 583_967_100, 700_000_188])(
  "no law is broken in world %i, which once broke one",
  (seed) => runSeeds([seed]),
)
