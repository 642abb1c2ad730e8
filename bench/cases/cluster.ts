import { type Case, compare } from "../case.js"
import { uniform } from "../keys.js"
import { startMasters } from "../redis.js"
import { incr } from "../subjects/floors.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"

export const cluster: Case = {
  id: "cluster",
  title: "a Cluster of three masters",
  async run(bench) {
    bench.progress.step("starting three servers")
    const masters = await startMasters()
    try {
      const candidates = [sluice(masters), flexible(masters), incr(masters)]
      const keys = uniform(10_000)
      const rows = await compare({ ...bench, redis: masters }, candidates, { keys, inFlight: 256 })
      return [{ id: "cluster", title: "Cluster of three masters, 256 in flight over 10,000 keys", rows }]
    } finally {
      await masters.stop()
    }
  },
}
