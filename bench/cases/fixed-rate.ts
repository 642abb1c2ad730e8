import type { Case } from "../case.js"
import { closedLoop } from "../closed-loop.js"
import { uniform } from "../keys.js"
import { type FixedRateOutcome, openLoop } from "../open-loop.js"
import { type Figures, interleave, type Result } from "../rounds.js"
import { quantile } from "../statistics.js"
import type { Subject } from "../subject.js"
import { incr } from "../subjects/floors.js"
import { rateLimitRedis } from "../subjects/rate-limit-redis.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"
import { upstash } from "../subjects/upstash.js"

/** Decisions per second: far below what the peers can do, and near it. */
export const rates = [5_000, 20_000]

export const fixedRate: Case = {
  id: "fixed-rate",
  section: "redis",
  seconds: 55,
  title: "latency at a fixed rate",
  async run({ redis, pace, progress }) {
    const keys = uniform(10_000)
    const results: Result[] = []
    for (const rate of rates) {
      const subjects = await Promise.all([
        sluice(redis),
        flexible(redis),
        rateLimitRedis(redis),
        upstash(redis),
        incr(redis),
      ])
      // At a low rate V8 would compile the measured code late or never.
      const run = async (subject: Subject, ms: number, warming: boolean) =>
        warming
          ? closedLoop(subject, redis, { keys, inFlight: 256, ms })
          : figuresOf(await openLoop(subject, { keys, rate, ms, tickMs: 0 }))
      const rows = await interleave(subjects, run, pace, progress)
      await Promise.all(subjects.map((subject) => subject.close()))
      await redis.flush()
      results.push({
        id: `fixed-rate-${rate}`,
        title: `${rate.toLocaleString("en")} decisions per second`,
        rows,
      })
    }
    return results
  },
}

function figuresOf({ latencies, errors }: FixedRateOutcome): Figures {
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), errors }
}
