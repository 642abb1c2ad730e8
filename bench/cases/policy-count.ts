import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "sluice"
import type { Case } from "../case.js"
import { closedLoop } from "../closed-loop.js"
import { uniform } from "../keys.js"
import { interleave } from "../rounds.js"
import { plenty, type Subject } from "../subject.js"
import { sluice } from "../subjects/sluice.js"

export const counts = [1, 2, 4, 8, 16]

/** The nth policy of a limiter; their windows differ, so that no two policies are equal. */
export const kinds: Record<string, (nth: number) => Policy> = {
  tokenBucket: (nth) => tokenBucket({ capacity: plenty, refill: 10, every: `${nth}s` }),
  leakyBucket: (nth) => leakyBucket({ capacity: plenty, leak: 10, every: `${nth}s` }),
  fixedWindow: (nth) => fixedWindow({ limit: plenty, window: `${9 + nth}s` }),
  slidingWindow: (nth) => slidingWindow({ limit: plenty, window: `${9 + nth}s` }),
  slidingLog: (nth) => slidingLog({ limit: 10_000, window: `${9 + nth}s` }),
}

export const policyCount: Case = {
  id: "policy-count",
  section: "policies",
  seconds: 120,
  title: "1 to 16 policies per request",
  async run({ redis, pace, progress }) {
    const subjects = await Promise.all(
      Object.entries(kinds).flatMap(([kind, nth]) =>
        counts.map((count) => {
          const names = Array.from(
            { length: count },
            (_, index) => [`p${index + 1}`, nth(index + 1)] as const,
          )
          return sluice(redis, { name: `${kind} × ${count}`, policy: Object.fromEntries(names) })
        }),
      ),
    )
    const load = { keys: uniform(1_000), inFlight: 256 }
    const run = async (subject: Subject, ms: number) => {
      await redis.resetStatistics()
      const { rate, redisCpu, errors } = await closedLoop(subject, redis, { ...load, ms })
      const { calls, microseconds } = await redis.scripts()
      const { p99, longest } = await redis.holds()
      // Full logs of one subject must not slow down the next.
      await redis.flush()
      return {
        rate: rate as number,
        redisCpu: redisCpu as number,
        meanHold: microseconds / calls,
        p99Hold: p99,
        longestHold: longest,
        errors: errors as number,
      }
    }
    try {
      const rows = await interleave(subjects, run, pace, progress)
      const title = "1 to 16 policies per request, 256 in flight over 1,000 keys"
      return [{ id: "policy-count", title, rows }]
    } finally {
      await Promise.all(subjects.map((subject) => subject.close()))
    }
  },
}
