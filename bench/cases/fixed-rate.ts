import { setImmediate as turn } from "node:timers/promises"
import type { Case } from "../case.js"
import { closedLoop } from "../closed-loop.js"
import { uniform } from "../keys.js"
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
      // as in other cases: at so low a rate V8 would not get round to compiling what is measured
      const run = (subject: Subject, ms: number, warming: boolean) =>
        warming ? closedLoop(subject, redis, { keys, inFlight: 256, ms }) : openLoop(subject, keys, rate, ms)
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

/** Asks by the clock, whether or not answers come; each latency counts from the moment its ask was due. */
async function openLoop(
  subject: Subject,
  keys: readonly string[],
  rate: number,
  ms: number,
): Promise<Figures> {
  const mask = keys.length - 1
  const total = Math.round((rate * ms) / 1_000)
  const latencies: number[] = []
  const pending: Promise<void>[] = []
  const startedAt = performance.now()

  const ask = async (number: number) => {
    const dueAt = startedAt + (number * 1_000) / rate
    subject.passed(await subject.decide(keys[number & mask] as string))
    latencies.push(performance.now() - dueAt)
  }

  while (pending.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) * rate) / 1_000))
    while (pending.length < due) pending.push(ask(pending.length))
    await turn() // timers are a millisecond apart: too coarse
  }
  await Promise.all(pending)
  latencies.sort((a, b) => a - b)
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}
