// npm run bench -- [--quick] [--only <case>,…] [--write]
import { parseArgs } from "node:util"
import { barsOf, barsText } from "./bars.js"
import type { Case } from "./case.js"
import { accuracy } from "./cases/accuracy.js"
import { cluster } from "./cases/cluster.js"
import { fixedRate } from "./cases/fixed-rate.js"
import { hotKeyAllowed, hotKeyDenied } from "./cases/hot-key.js"
import { inFlight, zipfKeys } from "./cases/in-flight.js"
import { leaseProcesses } from "./cases/lease-processes.js"
import { memoryNew, memoryScale, memoryWarm } from "./cases/memory.js"
import { policies, threePolicies } from "./cases/policies.js"
import { redisMemory } from "./cases/redis-memory.js"
import { waiting } from "./cases/waiting.js"
import { progressOf } from "./progress.js"
import { startServer } from "./redis.js"
import { environmentOf, write } from "./report.js"
import type { Pace, Result } from "./rounds.js"
import { tableOf } from "./table.js"

const cases: Case[] = [
  inFlight,
  policies,
  zipfKeys,
  hotKeyAllowed,
  hotKeyDenied,
  threePolicies,
  fixedRate,
  cluster,
  leaseProcesses,
  waiting,
  accuracy,
  redisMemory,
  memoryWarm,
  memoryNew,
  memoryScale,
]

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    write: { type: "boolean", default: false },
  },
})
const { quick } = flags
const only = flags.only.flatMap((ids) => ids.split(","))
const unknown = only.find((id) => !cases.some((each) => each.id === id))
if (unknown !== undefined) {
  console.error(`There is no case ${unknown}. There are: ${cases.map(({ id }) => id).join(", ")}.`)
  process.exit(1)
}

const pace: Pace = quick
  ? { quick, rounds: 3, ms: 250, warmUpMs: 350 }
  : { quick, rounds: 7, ms: 1_000, warmUpMs: 1_000 }
const chosen = only.length === 0 ? cases : cases.filter(({ id }) => only.includes(id))
const progress = progressOf(chosen.length)
const startedAt = performance.now()
const redis = await startServer()
const environment = environmentOf(await redis.version(), quick)
const results: Result[] = []
console.log(Object.values(environment).join(", "))

for (const { title, run } of chosen) {
  progress.begin(title)
  const done = await run({ redis, pace, progress })
  progress.end()
  results.push(...done)
  for (const result of done) console.log(`\n${tableOf(result)}`)
}

const bars = barsOf(results)
console.log(`\n${barsText(bars)}`)
if (flags.write || (!quick && only.length === 0)) {
  console.log(`\nWrote ${write(results, bars, environment).join(", ")}.`)
}
console.log(`\nTook ${Math.round((performance.now() - startedAt) / 1_000)} s.`)
await redis.stop()
process.exit() // some peers leave timers behind
