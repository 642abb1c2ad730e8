// The rate limit server under `wrk`, beside the same server with limiters that decide nothing, and with 1,000 callers on Redis.
// npm run build && npx tsx --tsconfig tsconfig.base.json bench/service-wrk.ts
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { startRedis } from "../packages/sluice/test/support/redis-server.js"
import type { ServiceLoad, ServiceLoadReply } from "./service-load.js"
import type { ServiceReply, ServiceSubject } from "./service-server.js"
import { spreadOf } from "./statistics.js"
import { startWorker } from "./worker.js"

const PAIRS = 9
const SECONDS = 3

const folder = mkdtempSync(join(tmpdir(), "sluice-wrk-"))
const script = join(folder, "acquire.lua")
writeFileSync(
  script,
  `local bodies, next = {}, 0
request = function()
  next = next % 64 + 1
  bodies[next] = bodies[next] or wrk.format("POST", "/v1/limiters/api/acquire", { ["content-type"] = "application/json" },
    string.format('{"key":"user:%d"}', next))
  return bodies[next]
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(99)))
end
`,
)

interface Round {
  readonly rate: number
  readonly errors: number
  /** In milliseconds. */
  readonly p99: number
  /** Requests that were answered. */
  readonly done: number
}

async function wrk(port: number, connections: number, seconds: number): Promise<Round> {
  const url = `http://127.0.0.1:${port}/`
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", script, url]
  const { stdout } = await promisify(execFile)("wrk", args)
  const [requests = 0, us = 0, errors = 0, p99 = 0] =
    /RESULT (.+)/.exec(stdout)?.[1]?.split(" ").map(Number) ?? []
  return { rate: requests / (us / 1e6), errors, p99: p99 / 1_000, done: requests }
}

const start = async (subject: ServiceSubject) => {
  const name = `${subject.protocol} ${subject.limiter}`
  const worker = startWorker<"cpu" | ServiceSubject, ServiceReply>(name, "service-server.ts")
  return { worker, port: await worker.ask(subject) }
}

const loader = startWorker<ServiceLoad, ServiceLoadReply>("client", "service-load.ts")
const grpc = async (port: number, callers: number, seconds: number): Promise<Round> => {
  const load = { protocol: "grpc", port, callers, ms: seconds * 1_000 } as const
  const { done, seconds: took, errors, p99 } = await loader.ask(load)
  return { rate: done / took, errors, p99, done }
}

const round = (value: number) => (value > 100 ? Math.round(value) : Number(value.toPrecision(3)))
const shown = (values: readonly number[]) => {
  const { median, min, max } = spreadOf(values)
  return `${round(median)} (${round(min)} to ${round(max)})`
}

for (const protocol of ["http", "grpc"] as const) {
  const run = protocol === "http" ? wrk : grpc
  const [stub, real] = [
    await start({ protocol, limiter: "stub" }),
    await start({ protocol, limiter: "real" }),
  ]
  for (const { port } of [stub, real]) await run(port, 64, SECONDS)
  const measure = async ({ worker, port }: typeof stub) => {
    const before = await worker.ask("cpu")
    const result = await run(port, 64, SECONDS)
    return { ...result, cpu: ((await worker.ask("cpu")) - before) / result.done }
  }
  type Measured = Awaited<ReturnType<typeof measure>>
  const pairs: (readonly [Measured, Measured])[] = []
  for (let i = 0; i < PAIRS; i += 1) pairs.push([await measure(stub), await measure(real)])
  const errors = pairs.flat().reduce((sum, each) => sum + each.errors, 0)
  console.log(`${protocol}: ${shown(pairs.map(([, own]) => own.rate))} requests per second`)
  console.log(`  stubbed: ${shown(pairs.map(([base]) => base.rate))}`)
  console.log(`  share of the stub, pair by pair: ${shown(pairs.map(([base, own]) => own.rate / base.rate))}`)
  console.log(`  µs of processor time per request: ${shown(pairs.map(([, own]) => own.cpu))}`)
  console.log(`  the same, stubbed: ${shown(pairs.map(([base]) => base.cpu))}`)
  console.log(
    `  share by processor time, pair by pair: ${shown(pairs.map(([base, own]) => base.cpu / own.cpu))}`,
  )
  console.log(`  errors: ${errors}`)
  for (const { worker } of [stub, real]) worker.stop()
}
loader.stop()

const redis = await startRedis()
const { worker, port } = await start({ protocol: "http", limiter: "real", redisPort: redis.port })
await wrk(port, 1_000, SECONDS)
const rounds: Round[] = []
for (let i = 0; i < PAIRS; i += 1) rounds.push(await wrk(port, 1_000, SECONDS))
console.log(`http on Redis, 1,000 callers: ${shown(rounds.map(({ rate }) => rate))} requests per second`)
console.log(`  p99 in ms: ${shown(rounds.map(({ p99 }) => p99))}`)
console.log(`  errors: ${rounds.reduce((sum, each) => sum + each.errors, 0)}`)
worker.stop()
await redis.stop()
rmSync(folder, { recursive: true })
