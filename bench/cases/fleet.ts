import type { Bench, Case } from "../case.js"
import type { FleetReply, FleetRequest } from "../fleet-worker.js"
import { type Figures, interleave, type Result } from "../rounds.js"
import { quantile } from "../statistics.js"
import { pipelined } from "../subjects/pipelined.js"
import { startWorker, type Worker } from "../worker.js"

const processes = 4

interface FleetLoad {
  readonly id: string
  readonly title: string
  /** The share of one process. */
  readonly load: FleetRequest["load"]
}

const fixedRate = (rate: number, tickMs: number) => ({ rate: rate / processes, tickMs })

const loads: readonly FleetLoad[] = [
  { id: "fleet-closed", title: "64 in flight each", load: { inFlight: 64 } },
  { id: "fleet-5000", title: "5,000 requests a second in all", load: fixedRate(5_000, 1) },
  { id: "fleet-10000", title: "10,000 requests a second in all", load: fixedRate(10_000, 1) },
  { id: "fleet-5000-ticks", title: "5,000 a second, in ticks of 5 ms", load: fixedRate(5_000, 5) },
]

/** Sluice bypasses auto-pipelining, so one row is enough. */
const names = Object.keys(pipelined).filter((name) => name !== "sluice, auto-pipelining")

export const fleet: Case = {
  id: "fleet",
  section: "fleet",
  seconds: 125,
  title: "four processes on one Redis",
  async run(bench) {
    const port = String(bench.redis.ports[0])
    const workers = Array.from({ length: processes }, (_, index) =>
      startWorker<FleetRequest, FleetReply>(`process ${index + 1}`, "fleet-worker.ts", [port]),
    )
    try {
      const results: Result[] = []
      for (const { id, title, load } of loads) {
        const rows = await interleave(
          names.map((name) => ({ name })),
          ({ name }, ms, warming) => together(bench, workers, name, warming ? { inFlight: 64 } : load, ms),
          bench.pace,
          bench.progress,
        )
        results.push({ id, title: `Four processes on one Redis, ${title}`, rows })
      }
      return results
    } finally {
      for (const worker of workers) worker.stop()
      await bench.redis.flush()
    }
  },
}

async function together(
  { redis }: Bench,
  workers: readonly Worker<FleetRequest, FleetReply>[],
  subject: string,
  load: FleetRequest["load"],
  ms: number,
): Promise<Figures> {
  const cpu = await redis.cpu()
  const { calls } = await redis.scripts()
  const startsAt = Date.now() + 50
  const replies = await Promise.all(workers.map((worker) => worker.ask({ subject, load, ms, startsAt })))
  const redisCpu = (await redis.cpu()) - cpu
  const redisCalls = (await redis.scripts()).calls - calls
  const sum = (field: "done" | "errors" | "cpu") => replies.reduce((total, reply) => total + reply[field], 0)
  const latencies = Float64Array.from(replies.flatMap((reply) => [...reply.latencies])).sort()
  const done = sum("done")
  return {
    rate: done / Math.max(...replies.map(({ seconds }) => seconds)),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    nodeCpu: sum("cpu") / done,
    redisCpu: redisCpu / done,
    perCall: done / redisCalls,
    errors: sum("errors"),
  }
}
