import type { Bench, Case } from "../case.js"
import { type Figures, interleave, type Pace, type Result, type Row } from "../rounds.js"
import type { ServiceLoad, ServiceLoadReply } from "../service-load.js"
import type { ServiceReply, ServiceSubject } from "../service-server.js"
import { startWorker, type Worker } from "../worker.js"

const callers = 64
const manyCallers = 1_000

/** The server's cost of a decision: the same routes with limiters that decide nothing, and many callers on Redis. */
export const service: Case = {
  id: "service",
  section: "service",
  seconds: 90,
  title: "Rate limit server",
  async run(bench) {
    const results: Result[] = []
    for (const protocol of ["http", "grpc"] as const) {
      const rows = await compareServers(bench, callers, [
        ["stubbed", { protocol, limiter: "stub" }],
        ["sluice", { protocol, limiter: "real" }],
      ])
      const title = { http: "HTTP acquire", grpc: "gRPC ShouldRateLimit" }[protocol]
      results.push({
        id: `service-${protocol}`,
        title: `${title} in memory, ${callers} callers, beside the same route without a limiter`,
        rows: rows.map((row) => besideStub(row, rows[0])),
      })
    }
    const redisPort = bench.redis.ports[0] as number
    const rows = await compareServers(bench, manyCallers, [
      ["sluice", { protocol: "http", limiter: "real", redisPort }],
    ])
    results.push({
      id: "service-redis",
      title: `HTTP acquire on Redis, ${manyCallers.toLocaleString("en")} callers`,
      rows,
    })
    return results
  },
}

interface Server {
  readonly name: string
  readonly protocol: ServiceSubject["protocol"]
  readonly worker: Worker<"cpu" | ServiceSubject, ServiceReply>
  readonly port: number
}

/** A server has more code to compile than a limiter, and each round opens its connections anew. */
function paceOf({ quick }: Pace): Pace {
  return quick
    ? { quick, rounds: 2, ms: 1_000, warmUpMs: 1_500 }
    : { quick, rounds: 5, ms: 2_000, warmUpMs: 3_000 }
}

async function compareServers(
  { pace, progress }: Bench,
  callers: number,
  subjects: readonly (readonly [string, ServiceSubject])[],
): Promise<Row[]> {
  const client = startWorker<ServiceLoad, ServiceLoadReply>("client", "service-load.ts")
  const servers: Server[] = []
  try {
    progress.step("starting servers")
    for (const [name, subject] of subjects) {
      const worker = startWorker<"cpu" | ServiceSubject, ServiceReply>(name, "service-server.ts")
      servers.push({ name, protocol: subject.protocol, worker, port: await worker.ask(subject) })
    }
    const run = async ({ protocol, port, worker }: Server, ms: number): Promise<Figures> => {
      const cpu = await worker.ask("cpu")
      const { done, seconds, errors, p50, p99 } = await client.ask({ protocol, port, callers, ms })
      const serverCpu = ((await worker.ask("cpu")) - cpu) / done
      return { requests: done / seconds, serverCpu, httpP50: p50, httpP99: p99, errors }
    }
    return await interleave(servers, run, paceOf(pace), progress)
  } finally {
    client.stop()
    for (const { worker } of servers) worker.stop()
  }
}

/** Adds the share of the stub's throughput. */
function besideStub(row: Row, stub: Row | undefined): Row {
  const [requests, most] = [row.figures["requests"]?.median, stub?.figures["requests"]?.median]
  if (row === stub || requests === undefined || most === undefined) return row
  const value = requests / most
  return { ...row, figures: { ...row.figures, ofStub: { median: value, min: value, max: value } } }
}
