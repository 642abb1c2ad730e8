import { Redis } from "ioredis"
import { createLimiter, type Policy, slidingLog, tokenBucket } from "sluice"
import { ioredis, type RedisStoreOptions, redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeEach(async () => {
  server = await startRedis({ args: ["--maxmemory", "8mb", "--maxmemory-policy", "noeviction"] })
  client = new Redis(server.port, server.host)
})
afterEach(async () => {
  client.disconnect()
  await server.stop()
})

const policies: Record<string, Policy> = {
  tokenBucket: tokenBucket({ capacity: 10, refill: 1, every: "1h" }),
  slidingLog: slidingLog({ limit: 10, window: "1h" }),
}

/** Fills the memory with made-up keys, until Redis accepts no more: first with large values, then with small ones. */
async function fillMemory(): Promise<void> {
  for (const size of [100_000, 1_000, 1]) {
    for (let i = 0; ; i += 1) {
      const refused = await client.set(`junk ${size} ${i}`, "x".repeat(size)).catch((error: Error) => error)
      if (refused instanceof Error) break
    }
  }
}

describe.each<[string, RedisStoreOptions]>([
  ["by function", {}],
  ["by script", { delivery: "script" }],
])("made-up keys that fill the memory of Redis (%s)", (_, options) => {
  test.each(Object.entries(policies))(
    "let no waiter of an exhausted key pass under `then: open` (%s)",
    async (_, policy) => {
      const store = redisStore(ioredis(client), { ...options, denyCache: false })
      const limiter = createLimiter({ policy, store, outage: { then: "open" }, maxWait: "2h" })
      await limiter.tryAcquire("exhausted", { cost: 10 })
      if (options.delivery !== "script") {
        await vi.waitFor(async () => expect(await client.function("LIST")).toHaveLength(1))
      }
      await fillMemory()
      const denied = { allowed: false, degraded: false, source: "store" }
      expect(await limiter.tryAcquire("exhausted")).toMatchObject(denied)
      expect(await limiter.tryAcquire("exhausted", { timeout: "90m" })).toMatchObject(denied)
      await expect(limiter.acquire("exhausted")).rejects.toMatchObject({
        code: "QUEUE_FULL",
        decision: { ...denied, remaining: 0 },
      })
      const { decision } = await limiter.reserve("exhausted")
      expect(decision).toMatchObject(denied)
      // The outage policy decides about keys with units left.
      expect(await limiter.acquire("fresh")).toMatchObject({ allowed: true, degraded: true })
      await limiter.close()
    },
  )
})
