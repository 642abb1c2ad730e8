import { parseArgs } from "node:util"
import { barsOf, barsText } from "./bars.js"
import type { CaseReply, CaseRequest } from "./case-worker.js"
import { cases } from "./cases/index.js"
import { environmentOf, write } from "./report.js"
import type { Pace, Result } from "./rounds.js"
import { tableOf } from "./table.js"
import { startWorker } from "./worker.js"

const usage = `npm run bench -- [--quick] [--only <case>,…] [--write]

  --quick  short rounds, in under three minutes in all
  --only   these cases: ${cases.map(({ id }) => id).join(", ")}
  --write  keeps the results in bench/results.json and the charts in docs/benchmarks, as a whole run always does
  --help   says this`

const flags = flagsGiven()
const { quick } = flags
const only = flags.only.flatMap((ids) => ids.split(","))
const unknown = only.find((id) => !cases.some((each) => each.id === id))
if (unknown !== undefined) refuse(`There is no case ${unknown}.`)
if (flags.help) {
  console.log(usage)
  process.exit()
}

const pace: Pace = quick
  ? { quick, rounds: 3, ms: 250, warmUpMs: 350 }
  : { quick, rounds: 7, ms: 1_000, warmUpMs: 1_000 }
const chosen = only.length === 0 ? cases : cases.filter(({ id }) => only.includes(id))
const startedAt = Date.now()
const results: Result[] = []
let version = ""
for (const [index, { id, title }] of chosen.entries()) {
  const worker = startWorker<CaseRequest, CaseReply>(title, "case-worker.ts")
  const reply = await worker.ask({ id, pace, turn: { number: index + 1, total: chosen.length, startedAt } })
  worker.stop()
  version = reply.version
  results.push(...reply.results)
  for (const result of reply.results) console.log(`\n${tableOf(result)}`)
}

const environment = environmentOf(version, quick)
const bars = barsOf(results)
console.log(`\n${barsText(bars)}`)
console.log(`\n${Object.values(environment).join(", ")}`)
if (flags.write || (!quick && only.length === 0)) {
  console.log(`\nWrote ${write(results, bars, environment).join(", ")}.`)
}
console.log(`\nTook ${Math.round((Date.now() - startedAt) / 1_000)} s.`)

function flagsGiven() {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string", multiple: true, default: [] },
        write: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    })
    return values
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(why: string): never {
  console.error(`${why}\n\n${usage}`)
  process.exit(1)
}
