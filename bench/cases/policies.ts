import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "sluice"
import { type Case, compare } from "../case.js"
import { uniform } from "../keys.js"
import { plenty } from "../subject.js"
import { incr } from "../subjects/floors.js"
import { rateLimitRedisStack } from "../subjects/rate-limit-redis.js"
import { flexible, flexibleUnion } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"

// a log holds what it grants, so its limit is one that people set; the loop stays well under it
const [limit, window] = [10_000, "10s"] as const

export const otherPolicies: Record<string, Policy> = {
  fixedWindow: fixedWindow({ limit, window }),
  slidingLog: slidingLog({ limit, window }),
  slidingWindow: slidingWindow({ limit, window }),
  leakyBucket: leakyBucket({ capacity: limit, leak: 1_000, every: "1s" }),
  // a unit takes a third of a microsecond more than a whole number of them, which is counted to the third
  "tokenBucket, 30 a second": tokenBucket({ capacity: plenty, refill: 30, every: "1s" }),
  "tokenBucket by intervals": tokenBucket({ capacity: plenty, refill: 10, every: "1s", mode: "interval" }),
}

export const policies: Case = {
  id: "policies",
  section: "policies",
  seconds: 40,
  title: "the other policies",
  async run(bench) {
    const ours = Object.entries(otherPolicies).map(([name, policy]) =>
      sluice(bench.redis, { name: `sluice ${name}`, policy }),
    )
    const candidates = [...ours, flexible(bench.redis, { points: limit, duration: 10 })]
    const rows = await compare(bench, candidates, { keys: uniform(10_000), inFlight: 256 })
    return [
      { id: "policies", title: "The other policies, 256 in flight over 10,000 keys, all allowed", rows },
    ]
  },
}

/** Seconds of the three limits, for the peers. */
const durations = [1, 60, 3_600]

export const threePolicies: Case = {
  id: "three-policies",
  section: "policies",
  seconds: 35,
  title: "three policies per decision",
  async run(bench) {
    const { redis } = bench
    const roomy = (every: "1s" | "1m" | "1h") => tokenBucket({ capacity: plenty, refill: 10_000, every })
    const candidates = [
      sluice(redis, { policy: { second: roomy("1s"), minute: roomy("1m"), hour: roomy("1h") } }),
      sluice(redis, {
        name: "sluice, of three kinds",
        policy: {
          second: roomy("1s"),
          minute: fixedWindow({ limit: plenty, window: "1m" }),
          hour: slidingWindow({ limit: plenty, window: "1h" }),
        },
      }),
      sluice(redis, {
        name: "sluice, one with a fraction",
        policy: {
          second: tokenBucket({ capacity: plenty, refill: 30, every: "1s" }),
          minute: roomy("1m"),
          hour: roomy("1h"),
        },
      }),
      flexibleUnion(redis, durations),
      rateLimitRedisStack(
        redis,
        durations.map((seconds) => seconds * 1_000),
      ),
      incr(redis, durations.length),
    ]
    const rows = await compare(bench, candidates, { keys: uniform(10_000), inFlight: 256 })
    return [
      { id: "three-policies", title: "Three policies per decision, 256 in flight over 10,000 keys", rows },
    ]
  },
}
