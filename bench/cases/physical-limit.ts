import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Case } from "../case.js"
import { type Figures, interleave } from "../rounds.js"

const run = promisify(execFile)

/** Commands by the tool that comes with the server, in C and without any waiting: nobody gets more out of this machine. */
const commands: Record<string, { readonly pipeline: number; readonly command: readonly string[] }> = {
  "INCR, one at a time": { pipeline: 1, command: ["INCR", "key:__rand_int__"] },
  "INCR, 16 in a pipeline": { pipeline: 16, command: ["INCR", "key:__rand_int__"] },
  "INCR, 64 in a pipeline": { pipeline: 64, command: ["INCR", "key:__rand_int__"] },
  "GET, 64 in a pipeline": { pipeline: 64, command: ["GET", "key:__rand_int__"] },
  "SET, 64 in a pipeline": { pipeline: 64, command: ["SET", "key:__rand_int__", "123456789012"] },
}

export const physicalLimit: Case = {
  id: "physical-limit",
  section: "redis",
  seconds: 30,
  title: "the server's own limit",
  async run({ redis, pace, progress }) {
    const tool = await benchmarkTool()
    const title = "redis-benchmark, 4 connections, 10,000 keys"
    const id = "physical-limit"
    if (tool === undefined) return [{ id, title, rows: [], notes: ["redis-benchmark was not found"] }]
    const subjects = Object.entries(commands).map(([name, each]) => ({ name, ...each }))
    const measure = async ({ pipeline, command }: (typeof subjects)[number], ms: number) => {
      // Enough requests for the time at the usual speed of a core.
      const requests = Math.round((pipeline === 1 ? 60 : 800) * ms)
      const cpu = await redis.cpu()
      const rate = await rateOf(tool, redis.ports[0] as number, pipeline, requests, command)
      return { rate, redisCpu: ((await redis.cpu()) - cpu) / requests } satisfies Figures
    }
    const rows = await interleave(subjects, measure, { ...pace, rounds: Math.min(pace.rounds, 3) }, progress)
    await redis.flush()
    return [{ id, title, rows }]
  },
}

async function benchmarkTool(): Promise<string | undefined> {
  for (const tool of ["redis-benchmark", "valkey-benchmark"]) {
    const found = await run(tool, ["--version"]).catch(() => undefined)
    if (found !== undefined) return tool
  }
  return undefined
}

async function rateOf(
  tool: string,
  port: number,
  pipeline: number,
  requests: number,
  command: readonly string[],
): Promise<number> {
  const load = ["-c", "4", "-P", String(pipeline), "-n", String(requests), "-r", "10000"]
  const { stdout } = await run(tool, ["-p", String(port), ...load, "--csv", ...command])
  const [, rate] = stdout.trim().split("\n").at(-1)?.split('","') ?? []
  return Number(rate?.replaceAll('"', ""))
}
