import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Policy, slidingLog, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const kinds: readonly (readonly [string, Policy])[] = [
  ["fixedWindow", fixedWindow({ limit: 10, window: "1h" })],
  ["slidingLog", slidingLog({ limit: 10, window: "1h" })],
  ["tokenBucket", tokenBucket({ capacity: 10, refill: 1, every: "1h" })],
  ["tokenBucket with a fraction", tokenBucket({ capacity: 10, refill: 7, every: "1h" })],
  ["tokenBucket by intervals", tokenBucket({ capacity: 10, refill: 1, every: "1h", mode: "interval" })],
]

describe.each(kinds)("an unreadable value under one key (%s)", (_, policy) => {
  async function setUp() {
    await client.flushall()
    const limiter = createLimiter({
      policy,
      store: redisStore(ioredis(client)),
      outage: { then: "closed" },
    })
    await limiter.tryAcquire("bad")
    const [key] = (await client.keys("*")) as [string]
    return { limiter, key }
  }

  test.each(["hello", Buffer.alloc(19, 0xff), Buffer.alloc(60, 0xff)])(
    "%o is an error of that key only",
    async (garbage) => {
      const { limiter, key } = await setUp()
      if (policy.algorithm === "slidingLog") await client.lset(key, -1, garbage)
      else await client.set(key, garbage)
      // More often than the circuit breaker tolerates failures.
      for (let i = 0; i < 8; i += 1) {
        const [good, bad] = await Promise.allSettled([
          limiter.tryAcquire(`good ${i}`),
          limiter.tryAcquire("bad"),
        ])
        expect(good).toMatchObject({
          status: "fulfilled",
          value: { allowed: true, remaining: 9, degraded: false },
        })
        if (bad.status === "fulfilled") expect(bad.value.degraded).toBe(false)
        else expect(bad.reason.message).toContain("no state of its policy, reset the key")
      }
      expect(limiter.health).toEqual({ reachable: true, degraded: 0 })
      await limiter.reset("bad")
      expect(await limiter.tryAcquire("bad")).toMatchObject({ allowed: true, remaining: 9 })
    },
  )
})
