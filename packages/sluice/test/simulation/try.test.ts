import { expect, test } from "vitest"
import { simulate } from "./simulate.js"
test("try", async () => {
  const from = Number(process.env["SIM_FROM"] ?? 1)
  const count = Number(process.env["SIM_SEEDS"] ?? 20)
  let lines = 0
  let hours = 0
  const start = process.hrtime.bigint()
  const laws = new Map<string, number[]>()
  for (let seed = from; seed < from + count; seed += 1) {
    const t0 = process.hrtime.bigint()
    const run = await simulate(seed)
    lines += run.lines.length
    hours += run.simulatedHours
    const ms = Number(process.hrtime.bigint() - t0) / 1e6
    if (count < 30) console.log(seed, run.hash, run.lines.length, run.simulatedHours.toFixed(1), `${ms.toFixed(0)} ms`, run.broken)
    if (run.broken) { const k = run.broken.law; laws.set(k, [...(laws.get(k) ?? []), seed]); if (process.env["SIM_TRACE"]) console.log(run.lines.slice(-Number(process.env["SIM_TRACE"])).join("\n")) }
  }
  console.log({ lines, hours, ms: Number(process.hrtime.bigint() - start) / 1e6 }, laws)
  expect(1).toBe(1)
}, 600_000)
