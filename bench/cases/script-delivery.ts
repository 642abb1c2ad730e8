import { type Case, compare } from "../case.js"
import { uniform } from "../keys.js"
import type { Result } from "../rounds.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"

export const scriptDelivery: Case = {
  id: "script-delivery",
  section: "redis",
  seconds: 45,
  title: "by function and by script",
  async run(bench) {
    const keys = uniform(10_000)
    const results: Result[] = []
    for (const level of [1, 32, 256]) {
      const candidates = [
        sluice(bench.redis),
        sluice(bench.redis, { name: "sluice, by EVALSHA", delivery: "script" }),
        flexible(bench.redis),
      ]
      const rows = await compare(bench, candidates, { keys, inFlight: level })
      results.push({ id: `script-delivery-${level}`, title: `FCALL and EVALSHA, ${level} in flight`, rows })
    }
    return results
  },
}
