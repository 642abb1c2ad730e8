import { tokenBucket } from "sluice"
import { type Bench, type Case, compare } from "../case.js"
import { closedLoop } from "../closed-loop.js"
import { rowOf } from "../rounds.js"
import { evalsha, incr } from "../subjects/floors.js"
import { rateLimitRedis } from "../subjects/rate-limit-redis.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { leasedSluice, sluice } from "../subjects/sluice.js"
import { upstash, upstashBucket } from "../subjects/upstash.js"

const load = { keys: ["user:00000000042"], inFlight: 256 }

export const hotKeyAllowed: Case = {
  id: "hot-key-allowed",
  section: "redis",
  seconds: 40,
  title: "one hot key, allowed",
  async run(bench) {
    const { redis } = bench
    const candidates = [
      sluice(redis),
      leasedSluice(redis),
      flexible(redis),
      rateLimitRedis(redis),
      upstash(redis),
      incr(redis),
      evalsha(redis),
    ]
    const rows = await compare(bench, candidates, load)
    return [{ id: "hot-key-allowed", title: "One key, all allowed, 256 in flight", rows }]
  },
}

/** Ten at once, then one a minute: who is refused is refused for longer than any round. */
const tight = tokenBucket({ capacity: 10, refill: 1, every: "1m" })

export const hotKeyDenied: Case = {
  id: "hot-key-denied",
  section: "redis",
  seconds: 40,
  title: "one hot key, denied",
  async run(bench) {
    const { redis } = bench
    const strict = { points: 10, duration: 600 }
    const candidates = [
      sluice(redis, { policy: tight }),
      flexible(redis, strict),
      flexible(redis, { ...strict, name: "rate-limiter-flexible, block cache", blockCache: true }),
      rateLimitRedis(redis, 10, 600_000),
      upstash(redis, { limiter: upstashBucket(1, "1 m", 10) }),
    ]
    const rows = await compare(bench, candidates, load)
    return [
      { id: "hot-key-denied", title: "One key, denied, 256 in flight", rows },
      {
        id: "denied-calls",
        title: "One key, denied, for a while: calls to Redis",
        rows: [await calls(bench)],
      },
    ]
  },
}

/** In one piece, because between short rounds a cache runs out: each would begin with a call. */
async function calls({ redis, pace, progress }: Bench) {
  progress.step("counting calls")
  const subject = await sluice(redis, { policy: tight })
  await closedLoop(subject, redis, { ...load, ms: 100 })
  const ms = pace.quick ? 3_000 : 10_000
  const { calls: perSecond, rate } = await closedLoop(subject, redis, { ...load, ms })
  await subject.close()
  return rowOf("sluice", [{ rate: rate as number, calls: perSecond as number, seconds: ms / 1_000 }])
}
