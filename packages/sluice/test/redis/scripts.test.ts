import { Redis } from "ioredis"
import { createClient } from "redis"
import { createLimiter, fixedWindow, type Store, scopeOf, slidingLog, tokenBucket } from "sluice"
import { ioredis, nodeRedis, type RedisClient, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"

let server: RedisServer
let io: Redis
type Call = Parameters<RedisClient["runByHash"]>
const clock = manualClock()
const policy = {
  burst: tokenBucket({ capacity: 50, refill: 1, every: "1s" }),
  all: slidingLog({ limit: 20, window: "1m" }),
}

beforeAll(async () => {
  server = await startRedis()
  io = new Redis(server.port, server.host)
})
afterAll(async () => {
  io.disconnect()
  await server.stop()
})

describe("scripts reach a server that does not know them", () => {
  test("SCRIPT FLUSH between any two calls goes unnoticed, through ioredis", async () => {
    await flushedBetweenCalls(redisStore(ioredis(io), { clock }))
  })

  test("SCRIPT FLUSH between any two calls goes unnoticed, through node-redis", async () => {
    const client = await createClient({ url: server.url }).connect()
    await flushedBetweenCalls(redisStore(nodeRedis(client), { clock }))
    client.destroy()
  })

  test("SCRIPT FLUSH all the while changes nothing for 200 callers at once", async () => {
    await io.flushall()
    const limiter = createLimiter({ policy, store: redisStore(ioredis(io), { clock }) })
    const flushing = setInterval(() => io.script("FLUSH"), 1)
    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.tryAcquire("k")))
    clearInterval(flushing)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20)
  })

  test("a known script is sent by its hash alone", async () => {
    const limiter = createLimiter({ policy, store: redisStore(ioredis(io)) })
    await limiter.tryAcquire("k")
    await io.config("RESETSTAT")
    for (let i = 0; i < 10; i += 1) await limiter.tryAcquire("k")
    const stats = await io.info("commandstats")
    expect(stats).toContain("cmdstat_evalsha:calls=10,")
    expect(stats).not.toContain("cmdstat_eval:")
  })

  async function flushedBetweenCalls(store: Store) {
    await io.flushall()
    const limiter = createLimiter({ name: "flushed", policy, store })
    for (let left = 19; left >= 0; left -= 1) {
      await io.script("FLUSH")
      expect((await limiter.tryAcquire("k")).remaining).toBe(left)
      await io.script("FLUSH")
      expect((await limiter.peek("k")).remaining).toBe(left)
    }
    await io.script("FLUSH")
    await limiter.refund("k", 5)
    expect((await limiter.peek("k")).remaining).toBe(5)
    await io.script("FLUSH")
    await limiter.reset("k")
    expect((await limiter.peek("k")).remaining).toBe(20)
    await limiter.close()
  }
})

describe("what the server says", () => {
  test("is understood whatever types the client maps replies to", async () => {
    const mapped = createClient({ url: server.url }).withTypeMapping({ 58: String })
    await mapped.connect()
    const strings = new Redis(server.port, server.host, { stringNumbers: true })
    for (const store of [redisStore(nodeRedis(mapped), { clock }), redisStore(ioredis(strings), { clock })]) {
      const limiter = createLimiter({ name: "mapped", policy, store })
      await limiter.reset("k")
      expect((await limiter.tryAcquire("k", { cost: 3 })).remaining).toBe(17)
      await limiter.close()
    }
    mapped.destroy()
    strings.disconnect()
  })

  test("is an error without effect when a key holds something else", async () => {
    const limiter = createLimiter({ name: "foreign", policy, store: redisStore(ioredis(io), { clock }) })
    await io.hset(redisKey("foreign", "k", "all", "sl"), "a", "b")
    const error = await limiter.tryAcquire("k").catch((error: unknown) => error)
    expect(error).toMatchObject({ name: "SluiceError", code: "STORE_REFUSED" })
    expect(await io.exists(redisKey("foreign", "k", "burst", "tb"))).toBe(0)
    await limiter.tryAcquire("k", { policy: { burst: policy.burst }, cost: 5 })
    await expect(limiter.refund("k", 2)).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect((await limiter.peek("k", { policy: { burst: policy.burst } })).remaining).toBe(45)
    await limiter.reset("k")
    expect((await limiter.tryAcquire("k")).allowed).toBe(true)
  })

  test("is an error without effect when memory is full", async () => {
    const full = await startRedis({ args: ["--maxmemory", "1", "--maxmemory-policy", "noeviction"] })
    const client = new Redis(full.port, full.host)
    const limiter = createLimiter({ name: "full", policy, store: redisStore(ioredis(client), { clock }) })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect((await limiter.peek("k")).remaining).toBe(20)
    client.disconnect()
    await full.stop()
  })

  test("is no answer when it cannot be read: the call may have run, and did", async () => {
    const garbling = {
      ...ioredis(io),
      runByHash: async (...call: Call) => [await ioredis(io).runByHash(...call)],
    }
    const limiter = createLimiter({ name: "garbled", policy, store: redisStore(garbling, { clock }) })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    await limiter.close()
    const after = createLimiter({ name: "garbled", policy, store: redisStore(ioredis(io), { clock }) })
    expect((await after.peek("k")).remaining).toBe(19)
  })

  test("is kept as the cause of the error", async () => {
    const throwing = { ...ioredis(io), runByHash: () => Promise.reject("no error at all") }
    const store = unguarded(redisStore(throwing))
    const place = { scope: scopeOf("n", "p"), key: "k" }
    await expect(store.giveBack([{ ...place, policy: policy.all, cost: 1 }])).rejects.toMatchObject({
      code: "STORE_UNKNOWN",
      cause: { message: "no error at all" },
    })
    await expect(store.forget([place])).rejects.toThrow(
      "the call may have run, do not repeat it: no error at all",
    )
  })

  test("a call refused by a script that will not end is tried until it passes", async () => {
    await command(server.port, "CONFIG", "SET", "busy-reply-threshold", 50)
    const endless = command(server.port, "EVAL", "while true do end", 0).catch(() => {})
    const store = unguarded(redisStore(ioredis(io), { retryFor: "10s" }))
    const limiter = createLimiter({ name: "busy", policy: fixedWindow({ limit: 5, window: "1m" }), store })
    setTimeout(() => command(server.port, "SCRIPT", "KILL"), 300)
    expect((await limiter.tryAcquire("k")).remaining).toBe(4)
    await endless
  })
})
