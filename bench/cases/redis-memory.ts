import type { Redis } from "ioredis"
import { fixedWindow, leakyBucket, type Policies, slidingLog, slidingWindow, tokenBucket } from "sluice"
import type { Case } from "../case.js"
import { keyOf } from "../keys.js"
import type { Server } from "../redis.js"
import { type Row, rowOf } from "../rounds.js"
import type { Subject } from "../subject.js"
import { rateLimitRedis } from "../subjects/rate-limit-redis.js"
import { flexible } from "../subjects/rate-limiter-flexible.js"
import { sluice } from "../subjects/sluice.js"
import { upstash, upstashBucket, upstashSliding } from "../subjects/upstash.js"

const [limit, window] = [100, "1h"] as const
const ours: Record<string, Policies> = {
  tokenBucket: tokenBucket({ capacity: limit, refill: 10, every: window }),
  leakyBucket: leakyBucket({ capacity: limit, leak: 10, every: window }),
  fixedWindow: fixedWindow({ limit, window }),
  slidingWindow: slidingWindow({ limit, window }),
  slidingLog: slidingLog({ limit, window }),
}

const subjects: ((on: Server) => Promise<Subject>)[] = [
  ...Object.entries(ours).map(
    ([name, policy]) =>
      (on: Server) =>
        sluice(on, { name: `sluice ${name}`, policy, limiter: "api" }),
  ),
  (on) => flexible(on, { points: limit, duration: 3_600 }),
  (on) => rateLimitRedis(on, limit, 3_600_000),
  (on) => upstash(on, { name: "@upstash/ratelimit tokenBucket", limiter: upstashBucket(10, "1 h", limit) }),
  (on) => upstash(on, { name: "@upstash/ratelimit slidingWindow", limiter: upstashSliding(limit, "1 h") }),
]

export const redisMemory: Case = {
  id: "redis-memory",
  section: "redis",
  seconds: 35,
  title: "bytes per key in Redis",
  async run({ redis, pace, progress }) {
    const count = pace.quick ? 2_000 : 10_000
    const rows: Row[] = []
    for (const make of subjects) {
      const subject = await make(redis)
      progress.step(subject.name)
      await redis.flush()
      const empty = await redis.memory()
      const bytes = async () => ((await redis.memory()) - empty) / count
      await ask(subject, count)
      const usage = (await memoryUsage(redis)) / count
      const afterOne = await bytes()
      for (let times = 2; times <= 10; times += 1) await ask(subject, count)
      rows.push(rowOf(subject.name, [{ usage, bytesAfter1: afterOne, bytesAfter10: await bytes() }]))
      await subject.close()
    }
    await redis.flush()
    const title = `Bytes in Redis per key of 16 bytes, ${count.toLocaleString("en")} keys`
    return [{ id: "redis-memory", title, rows }]
  },
}

async function ask(subject: Subject, count: number): Promise<void> {
  const together = 1_000
  for (let from = 0; from < count; from += together) {
    const keys = Array.from({ length: together }, (_, index) => keyOf(from + index))
    await Promise.all(keys.map(async (key) => subject.passed(await subject.decide(key))))
  }
}

/** What MEMORY USAGE says of all keys together. */
async function memoryUsage(on: Server): Promise<number> {
  const client = (await on.connect()) as Redis
  let total = 0
  for await (const keys of client.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    const replies = await client.pipeline(keys.map((key) => ["memory", "usage", key])).exec()
    for (const [error, bytes] of replies ?? []) {
      if (error !== null) throw error
      total += Number(bytes)
    }
  }
  client.disconnect()
  return total
}
