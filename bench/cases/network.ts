import { type Case, compare } from "../case.js"
import type { DelayReply, DelayRequest } from "../delay-worker.js"
import { uniform } from "../keys.js"
import { connectTo } from "../redis.js"
import type { Result } from "../rounds.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"
import { startWorker } from "../worker.js"

/** Milliseconds added to each round trip. */
export const delays = [1, 10]
export const networkLevels = [1, 32, 256, 1024]

export const network: Case = {
  id: "network",
  section: "network",
  seconds: 100,
  title: "Redis behind a slower network",
  async run(bench) {
    const keys = uniform(10_000)
    const results: Result[] = []
    for (const ms of delays) {
      const proxy = startWorker<DelayRequest, DelayReply>(`proxy, ${ms} ms`, "delay-worker.ts")
      try {
        const near = connectTo(await proxy.ask({ port: bench.redis.ports[0] as number, ms }))
        const redis = { ...bench.redis, connect: near.connect }
        for (const level of networkLevels) {
          const candidates = [sluice(redis), flexible(redis)]
          const rows = await compare({ ...bench, redis }, candidates, { keys, inFlight: level })
          results.push({
            id: `network-${ms}-${level}`,
            title: `${ms} ms added to each round trip, ${level} in flight`,
            rows,
          })
        }
      } finally {
        proxy.stop()
      }
    }
    return results
  },
}
