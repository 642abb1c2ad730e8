import { tokenBucket } from "sluice"
import type { Case } from "../case.js"
import type { LeaseReply, LeaseRequest } from "../lease-worker.js"
import { rowOf } from "../rounds.js"
import { startWorker } from "../worker.js"

const [capacity, perSecond] = [2_000, 10_000]
const policy = tokenBucket({ capacity, refill: perSecond, every: "1s" })
/** What `lease: true` means. */
const leaseMs = 100
/** In turns, each process wants most of the limit; together they want 130 % of it at all times. */
const shares = [0.7, 0.35, 0.2, 0.05]

const id = "lease-processes"
const title = "Four processes that lease from one limiter, uneven load, more demand than limit"

export const leaseProcesses: Case = {
  id,
  section: "fleet",
  seconds: 35,
  title: "four processes with leases",
  async run({ redis, pace, progress }) {
    const seconds = pace.quick ? 5 : 30
    progress.step(`${seconds} seconds`)
    const startsAt = Date.now() + 1_500
    const endsAt = startsAt + seconds * 1_000
    const workers = shares.map((_, index) =>
      startWorker<LeaseRequest, LeaseReply>(`process ${index + 1}`, "lease-worker.ts", []),
    )
    try {
      const replies = await Promise.all(
        workers.map((worker, index) => {
          const demands = shares.map(
            (_, turn) => perSecond * (shares[(index + turn) % shares.length] as number),
          )
          const port = redis.ports[0] as number
          return worker.ask({ port, policy, demands, phaseMs: 300, startsAt, endsAt })
        }),
      )
      const grants = replies.flatMap((reply) => [...reply]).sort((a, b) => a - b)
      const bound = capacity + (perSecond * leaseMs) / 1_000
      const figures = { ofBound: deepest(grants) / bound, used: used(grants, startsAt + 1_000, endsAt) }
      return [{ id, title: `${title}, ${seconds} s`, rows: [rowOf("sluice, leased", [figures])] }]
    } finally {
      for (const worker of workers) worker.stop()
      await redis.flush()
    }
  },
}

/** The most by which any span of these grants exceeds what the rate alone allows in that span. */
function deepest(grants: readonly number[]): number {
  let [level, most, lastAt] = [0, 0, 0]
  for (const at of grants) {
    level = Math.max(0, level - ((at - lastAt) * perSecond) / 1_000) + 1
    most = Math.max(most, level)
    lastAt = at
  }
  return most
}

/** The share of the refill that was granted, once the first burst is over. */
function used(grants: readonly number[], from: number, to: number): number {
  const inside = grants.filter((at) => at >= from && at < to).length
  return inside / ((perSecond * (to - from)) / 1_000)
}
