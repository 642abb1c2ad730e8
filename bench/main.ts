import { parseArgs } from "node:util"
import { barsOf, barsText } from "./bars.js"
import { type Case, sections } from "./case.js"
import type { CaseReply, CaseRequest } from "./case-worker.js"
import { cases } from "./cases/index.js"
import { render } from "./page.js"
import { allResults, environmentOf, type Measured, mergeResults, readResults } from "./results.js"
import type { Pace } from "./rounds.js"
import { tableOf } from "./table.js"
import { startWorker } from "./worker.js"

const usage = `npm run bench -- [--quick] [--only=<section or case>,…] [--write] [--render]

  --quick   short rounds for a first look; keeps nothing unless --write is given
  --only    these sections: ${sections.join(", ")};
            or these cases: ${cases.map(({ id }) => id).join(", ")}
  --write   keeps the results of a quick run in bench/results.json and renders docs/benchmarks.md
  --render  runs nothing, and renders docs/benchmarks.md and its charts from bench/results.json
  --help    shows this text

A full run takes about half an hour. Its results, also those of single sections, are merged into bench/results.json.`

const flags = flagsGiven()
if (flags.help) {
  console.log(usage)
  process.exit()
}
if (flags.render) {
  report(render(readResults()))
  process.exit()
}

const { quick } = flags
const chosen = chosenCases(flags.only.flatMap((names) => names.split(",")))
const pace: Pace = quick
  ? { quick, rounds: 3, ms: 200, warmUpMs: 200 }
  : { quick, rounds: 5, ms: 800, warmUpMs: 600 }
/** How much of a full run's time this one needs. The first cases correct the guess. */
const guess = quick ? 0.25 : 1

const startedAt = Date.now()
const measured: Record<string, Measured> = {}
let secondsExpected = 0
for (const [index, { id, section, title, seconds }] of chosen.entries()) {
  const elapsed = (Date.now() - startedAt) / 1_000
  const pending = chosen.slice(index).reduce((sum, each) => sum + each.seconds, 0)
  const secondsLeft = pending * (secondsExpected === 0 ? guess : elapsed / secondsExpected)
  secondsExpected += seconds
  const caseStartedAt = Date.now()
  const worker = startWorker<CaseRequest, CaseReply>(title, "case-worker.ts")
  try {
    const turn = { number: index + 1, total: chosen.length, secondsLeft }
    const { results, version } = await worker.ask({ id, pace, turn })
    const environment = environmentOf(version, quick)
    measured[id] = { section, environment, seconds: (Date.now() - caseStartedAt) / 1_000, results }
    for (const result of results) console.log(`\n${tableOf(result)}`)
    // After each case, so that an interrupted run loses nothing.
    if (!quick || flags.write) mergeResults({ [id]: measured[id] })
  } catch (error) {
    console.error(`\n${id} failed: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  } finally {
    worker.stop()
  }
}

console.log(`\n${barsText(barsOf(allResults(measured)).filter((bar) => bar.measured !== undefined))}`)
if (!quick || flags.write) report(["bench/results.json", ...render(readResults())])
console.log(`\nTook ${Math.round((Date.now() - startedAt) / 1_000)} s.`)

function report(written: readonly string[]): void {
  console.log(`\nWrote ${written.join(", ")}.`)
}

function chosenCases(names: readonly string[]): readonly Case[] {
  const isNamed = (name: string) => (each: Case) => each.id === name || each.section === name
  const unknown = names.find((name) => !cases.some(isNamed(name)))
  if (unknown !== undefined) refuse(`There is no section or case ${unknown}.`)
  return names.length === 0 ? cases : cases.filter((each) => names.some((name) => isNamed(name)(each)))
}

function flagsGiven() {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string", multiple: true, default: [] },
        write: { type: "boolean", default: false },
        render: { type: "boolean", default: false },
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
