import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, leakyBucket, slidingLog, slidingWindow, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const policies = {
  fixedWindow: fixedWindow({ limit: 3, window: 400 }),
  aligned: fixedWindow({ limit: 3, window: 400, align: "clock" }),
  slidingLog: slidingLog({ limit: 3, window: 400 }),
  slidingWindow: slidingWindow({ limit: 3, window: 400 }),
  tokenBucket: tokenBucket({ capacity: 3, refill: 3, every: 400 }),
  interval: tokenBucket({ capacity: 3, refill: 3, every: 400, mode: "interval" }),
  leakyBucket: leakyBucket({ capacity: 3, leak: 3, every: 400 }),
}

describe("by the server's clock", () => {
  test.each(Object.entries(policies))(
    "%s passes after retryAfter and not long before",
    async (name, policy) => {
      const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client)) })
      // into a fresh window: the drain must not straddle an edge
      if (name === "aligned") await sleep(410 - (Date.now() % 400))
      expect((await limiter.tryAcquire("k", { cost: 3 })).allowed).toBe(true)
      const { allowed, retryAfter } = await limiter.tryAcquire("k", { cost: 3 })
      expect(allowed).toBe(false)
      expect(retryAfter).toBeGreaterThan(0)
      expect(retryAfter).toBeLessThanOrEqual(400)
      await sleep(retryAfter + 2)
      expect((await limiter.tryAcquire("k", { cost: 3 })).allowed).toBe(true)
    },
  )

  test.each(Object.entries(policies))(
    "%s leaves no key a second after it stopped mattering",
    async (name, policy) => {
      const limiter = createLimiter({ name: `expiring ${name}`, policy, store: redisStore(ioredis(client)) })
      const { resetAfter } = await limiter.tryAcquire("k", { cost: 2 })
      const [key] = await client.keys(`*expiring ${name}:k*`)
      const left = await client.pttl(key as string)
      expect(left).toBeGreaterThan(resetAfter - 5)
      expect(left).toBeLessThanOrEqual(Math.max(resetAfter, name === "interval" ? 400 : 0) + 1_000)
      await sleep(left + 5)
      expect(await client.exists(key as string)).toBe(0)
    },
  )

  test("a clock of the caller's own sees keys kept for another minute", async () => {
    const limiter = createLimiter({
      name: "own",
      policy: policies.tokenBucket,
      store: redisStore(ioredis(client), { clock: Date.now }),
    })
    const { resetAfter } = await limiter.tryAcquire("k")
    const left = await client.pttl(redisKey("own", "k", "default", "tb"))
    expect(left).toBeGreaterThan(60_000)
    expect(left).toBeLessThanOrEqual(resetAfter + 61_000)
  })
})
