import { type Case, compare } from "../case.js"
import { uniform, zipf } from "../keys.js"
import type { Server } from "../redis.js"
import type { Result } from "../rounds.js"
import { evalsha, incr } from "../subjects/floors.js"
import { rateLimitRedis } from "../subjects/rate-limit-redis.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"
import { upstash } from "../subjects/upstash.js"

const everyone = (on: Server) => [
  sluice(on),
  flexible(on),
  rateLimitRedis(on),
  upstash(on),
  incr(on),
  evalsha(on),
]

/** How many decisions are under way at a time. */
export const levels = [1, 8, 32, 256, 1024]

export const inFlight: Case = {
  id: "in-flight",
  section: "redis",
  seconds: 165,
  title: "10,000 keys, all allowed",
  async run(bench) {
    const keys = uniform(10_000)
    const results: Result[] = []
    for (const level of levels) {
      const rows = await compare(bench, everyone(bench.redis), { keys, inFlight: level })
      results.push({
        id: `in-flight-${level}`,
        title: `${level} in flight over 10,000 keys, all allowed`,
        rows,
      })
    }
    return results
  },
}

export const zipfKeys: Case = {
  id: "zipf",
  section: "redis",
  seconds: 20,
  title: "keys by Zipf's law",
  async run(bench) {
    const rows = await compare(
      bench,
      [sluice(bench.redis), flexible(bench.redis), rateLimitRedis(bench.redis)],
      {
        keys: zipf(10_000),
        inFlight: 256,
      },
    )
    return [{ id: "zipf", title: "256 in flight, 10,000 keys by Zipf's law, all allowed", rows }]
  },
}
