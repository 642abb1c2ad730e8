import { type Case, compare } from "../case.js"
import { uniform } from "../keys.js"
import type { Result } from "../rounds.js"
import { pipelined } from "../subjects/pipelined.js"

export const autoPipelining: Case = {
  id: "auto-pipelining",
  section: "redis",
  seconds: 65,
  title: "with and without auto-pipelining",
  async run(bench) {
    const keys = uniform(10_000)
    const results: Result[] = []
    for (const level of [32, 256]) {
      const candidates = Object.values(pipelined).map((make) => make(bench.redis))
      const rows = await compare(bench, candidates, { keys, inFlight: level })
      results.push({
        id: `auto-pipelining-${level}`,
        title: `ioredis with and without auto-pipelining, ${level} in flight`,
        rows,
      })
    }
    return results
  },
}
