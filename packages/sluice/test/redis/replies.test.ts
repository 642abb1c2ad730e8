import { Redis } from "ioredis"
import { createClient } from "redis"
import { createLimiter, fixedWindow, slidingLog, tokenBucket } from "sluice"
import { ioredis, nodeRedis, type RedisClient, redisStore } from "sluice/redis"
import { policyRef } from "sluice/store"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"

let server: RedisServer
let io: Redis
type Call = Parameters<RedisClient["run"]>
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

describe("a reply of the server", () => {
  test("is decoded whatever types the client maps it to", async () => {
    const mapped = createClient({ url: server.url }).withTypeMapping({ 58: String })
    await mapped.connect()
    const strings = new Redis(server.port, server.host, { stringNumbers: true })
    for (const store of [redisStore(nodeRedis(mapped), { clock }), redisStore(ioredis(strings), { clock })]) {
      const limiter = createLimiter({ name: "mapped", policy, store })
      await limiter.reset("k")
      expect((await limiter.tryAcquire("k", { cost: { burst: 3, all: 3 } })).remaining).toBe(17)
      await limiter.close()
    }
    mapped.destroy()
    strings.disconnect()
  })

  test("is an error without effect if a key has another type", async () => {
    const limiter = createLimiter({ name: "foreign", policy, store: redisStore(ioredis(io), { clock }) })
    await io.hset(redisKey("foreign", "k", "all", "sl"), "a", "b")
    const error = await limiter.tryAcquire("k").catch((error: unknown) => error)
    expect(error).toMatchObject({ name: "SluiceError", code: "STORE_REFUSED" })
    expect(await io.exists(redisKey("foreign", "k", "burst", "tb"))).toBe(0)
    await limiter.tryAcquire("k", { policy: { burst: policy.burst }, cost: { burst: 5 } })
    await expect(limiter.refund("k", { burst: 2, all: 2 })).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect((await limiter.peek("k", { policy: { burst: policy.burst } })).remaining).toBe(45)
    await limiter.reset("k")
    expect((await limiter.tryAcquire("k")).allowed).toBe(true)
  })

  test("is an error without effect if memory is full", async () => {
    const full = await startRedis({ args: ["--maxmemory", "1", "--maxmemory-policy", "noeviction"] })
    const client = new Redis(full.port, full.host)
    const limiter = createLimiter({ name: "full", policy, store: redisStore(ioredis(client), { clock }) })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect((await limiter.peek("k")).remaining).toBe(20)
    client.disconnect()
    await full.stop()
  })

  test("rejects with STORE_UNKNOWN if it cannot be decoded, because the call ran", async () => {
    const garbling = {
      ...ioredis(io),
      run: async (...call: Call) => [await ioredis(io).run(...call)],
    }
    const limiter = createLimiter({ name: "garbled", policy, store: redisStore(garbling, { clock }) })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    await limiter.close()
    const after = createLimiter({ name: "garbled", policy, store: redisStore(ioredis(io), { clock }) })
    expect((await after.peek("k")).remaining).toBe(19)
  })

  test("is kept as the cause of the error", async () => {
    const throwing = { ...ioredis(io), run: () => Promise.reject("no error at all") }
    const store = unguarded(redisStore(throwing))
    const stateRef = { ref: policyRef("n", "p"), key: "k" }
    await expect(store.giveBack([{ ...stateRef, policy: policy.all, cost: 1 }])).rejects.toMatchObject({
      code: "STORE_UNKNOWN",
      cause: { message: "no error at all" },
    })
    await expect(store.forget([stateRef])).rejects.toThrow(
      "the call may have run, do not repeat it: no error at all",
    )
  })

  test("a call rejected because of an endless script is retried until it passes", async () => {
    await command(server.port, "CONFIG", "SET", "busy-reply-threshold", 50)
    const endless = command(server.port, "EVAL", "while true do end", 0).catch(() => {})
    const store = unguarded(redisStore(ioredis(io), { retryFor: "10s" }))
    const limiter = createLimiter({ name: "busy", policy: fixedWindow({ limit: 5, window: "1m" }), store })
    setTimeout(() => command(server.port, "SCRIPT", "KILL"), 300)
    expect((await limiter.tryAcquire("k")).remaining).toBe(4)
    await endless
  })
})
