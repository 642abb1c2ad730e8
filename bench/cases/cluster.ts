import { type Case, compare } from "../case.js"
import { uniform } from "../keys.js"
import { startMasters } from "../redis.js"
import type { Result } from "../rounds.js"
import { incr } from "../subjects/floors.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"

export const clusterLevels = [1, 32, 256, 1024]

export const cluster: Case = {
  id: "cluster",
  section: "cluster",
  seconds: 70,
  title: "a Cluster of three masters",
  async run(bench) {
    bench.progress.step("starting three servers")
    const masters = await startMasters()
    try {
      const keys = uniform(10_000)
      const results: Result[] = []
      for (const level of clusterLevels) {
        const candidates = [sluice(masters), flexible(masters), incr(masters)]
        const rows = await compare({ ...bench, redis: masters }, candidates, { keys, inFlight: level })
        results.push({ id: `cluster-${level}`, title: `Cluster of three masters, ${level} in flight`, rows })
      }
      return results
    } finally {
      await masters.stop()
    }
  },
}
