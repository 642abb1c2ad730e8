import type { Bench, Case } from "../case.js"
import type { LoadReply, LoadRequest } from "../http-load.js"
import type { HttpReply, HttpRequest } from "../http-server.js"
import { type Figures, interleave, type Pace, type Result, type Row } from "../rounds.js"
import { type Framework, type HttpSubject, usual } from "../subjects/http.js"
import { startWorker, type Worker } from "../worker.js"

/** Connections of the client, which sends the next request when it has the last response. */
const connections = { memory: 64, redis: 256 }

const frameworks = Object.keys(usual) as Framework[]

/** One case per framework, so that `--only=http-express` runs it alone. */
export const httpCases: readonly Case[] = frameworks.map((framework) => ({
  id: `http-${framework}`,
  section: "http",
  seconds: 105,
  title: `HTTP: ${framework}`,
  run: (bench) => runFramework(bench, framework),
}))

/** A web server has more code to compile than a limiter, and each round opens its connections anew. */
function paceOf({ quick }: Pace): Pace {
  return quick
    ? { quick, rounds: 1, ms: 600, warmUpMs: 600 }
    : { quick, rounds: 4, ms: 1_500, warmUpMs: 2_000 }
}

interface Server {
  readonly name: string
  readonly subject: HttpSubject
  readonly worker: Worker<HttpRequest, HttpReply>
  readonly port: number
}

async function runFramework(bench: Bench, framework: Framework): Promise<Result[]> {
  const client = startWorker<LoadRequest, LoadReply>("client", "http-load.ts")
  const results: Result[] = []
  try {
    for (const store of ["memory", "redis"] as const) {
      const servers = await startServers(bench, framework, store)
      try {
        const run = (server: Server, ms: number) => measure(client, server, connections[store], ms)
        const pace = paceOf(bench.pace)
        const rows = await interleave(servers, run, pace, bench.progress)
        const place = store === "redis" ? "on Redis" : "in memory"
        const title = `${framework} ${place}, ${connections[store]} connections`
        results.push({
          id: `http-${framework}-${store}`,
          title,
          rows: rows.map((row) => beside(row, rows[0])),
        })
      } finally {
        for (const { worker } of servers) worker.stop()
        await bench.redis.flush()
      }
    }
  } finally {
    client.stop()
  }
  return results
}

async function startServers({ redis, progress }: Bench, framework: Framework, store: HttpSubject["store"]) {
  progress.step("starting applications")
  const subjects: HttpSubject[] = [{ framework, limiter: "none", store, denied: false }]
  for (const denied of [false, true]) {
    for (const limiter of ["sluice", "usual"] as const) subjects.push({ framework, limiter, store, denied })
  }
  const servers: Server[] = []
  for (const subject of subjects) {
    const name = nameOf(subject)
    const worker = startWorker<HttpRequest, HttpReply>(name, "http-server.ts")
    const port = await worker.ask({ subject, redisPort: redis.ports[0] as number })
    servers.push({ name, subject, worker, port })
  }
  return servers
}

function nameOf({ framework, limiter, denied }: HttpSubject): string {
  if (limiter === "none") return `${framework} alone`
  return `${limiter === "sluice" ? "sluice" : usual[framework]}, ${denied ? "denied" : "allowed"}`
}

async function measure(
  client: Worker<LoadRequest, LoadReply>,
  { subject, worker, port }: Server,
  connections: number,
  ms: number,
): Promise<Figures> {
  const cpu = await worker.ask("cpu")
  const { done, seconds, passed, denied, errors, p50, p99 } = await client.ask({ port, connections, ms })
  const serverCpu = ((await worker.ask("cpu")) - cpu) / done
  // A limiter that lets nothing or everything pass would be measured for something else.
  const wrong = subject.denied ? Math.max(0, passed - connections * 2) : denied
  return { requests: done / seconds, httpP50: p50, httpP99: p99, serverCpu, errors: errors + wrong }
}

/** Adds the share of the bare framework's throughput, and the processor time beyond it. */
function beside(row: Row, bare: Row | undefined): Row {
  const requests = row.figures["requests"]?.median
  const serverCpu = row.figures["serverCpu"]?.median
  const bareRequests = bare?.figures["requests"]?.median
  const bareCpu = bare?.figures["serverCpu"]?.median
  if (row === bare || requests === undefined || serverCpu === undefined) return row
  if (bareRequests === undefined || bareCpu === undefined) return row
  const exact = (value: number) => ({ median: value, min: value, max: value })
  const added = { share: exact(requests / bareRequests), addedCpu: exact(serverCpu - bareCpu) }
  return { subject: row.subject, figures: { ...row.figures, ...added } }
}
