import { randomBytes } from "node:crypto"
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, memoryStore, SluiceError, type Store, tokenBucket } from "sluice"
import { sluiceStore } from "sluice/express-rate-limit"
import { limitedFetch } from "sluice/fetch"
import { ioredis, ioredisSettings, redisStore } from "sluice/redis"
import { afterAll, beforeAll, expect, test } from "vitest"
import { flakyStore } from "../support/flaky-store.js"
import { bytesHeld } from "../support/memory.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ ...ioredisSettings, host: server.host, port: server.port, enableOfflineQueue: true })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** Uses keys of 20 characters that are cut from bodies of 200 kB, and tells how many bytes are held afterwards. */
async function heldBy(use: (key: string) => Promise<unknown>, keys = 100): Promise<number> {
  const useAll = async (count: number) => {
    for (let i = 0; i < count; i += 1) await use(randomBytes(100_000).toString("hex").slice(7, 27))
    // let replies that are under way go
    await new Promise((resolve) => setImmediate(resolve))
    return bytesHeld()
  }
  const before = await useAll(5)
  return (await useAll(keys)) - before
}

/** 100 bodies are 20 MB. */
const FEW = 3_000_000

const once = fixedWindow({ limit: 1, window: "1h" })
const remote = () => flakyStore().store
const stores: [name: string, make: () => Store][] = [
  ["a memory store", () => memoryStore()],
  ["a distant store", remote],
  ["Redis", () => redisStore(ioredis(client), { prefix: randomBytes(4).toString("hex") })],
]

test.each(stores)("denied keys keep no body in memory, on %s", async (_, make) => {
  const limiter = createLimiter({ policy: once, store: make() })
  const held = await heldBy(async (key) => {
    await limiter.tryAcquire(key)
    expect((await limiter.tryAcquire(key)).allowed).toBe(false)
  })
  expect(held).toBeLessThan(FEW)
  await limiter.close()
})

test("leased keys keep no body in memory", async () => {
  const policy = tokenBucket({ capacity: 1_000_000, refill: 1_000_000, every: "1h" })
  const limiter = createLimiter({ policy, store: remote(), lease: true })
  const held = await heldBy(async (key) => {
    for (let i = 0; i < 50; i += 1) await limiter.tryAcquire(key)
    expect((await limiter.tryAcquire(key)).source).toBe("lease")
  })
  expect(held).toBeLessThan(FEW)
  await limiter.close()
})

test("keys that are spent or reserved without the store keep no body in memory", async () => {
  const { store, failWith } = flakyStore()
  const policy = tokenBucket({ capacity: 10, refill: 10, every: "1h" })
  const limiter = createLimiter({ policy, store, outage: { then: { local: 1 } } })
  failWith(() => new SluiceError("STORE_REFUSED", "connection refused"))
  const held = await heldBy(async (key) => {
    await limiter.tryAcquire(key)
    await limiter.tryAcquire(`${key}:${key}`)
    await limiter.reserve(key)
  })
  expect(held).toBeLessThan(FEW)
  await limiter.close()
})

test("keys that are held back keep no body in memory", async () => {
  const answer = async () => new Response("", { status: 429, headers: { "retry-after": "50" } })
  let key = ""
  const fetch = limitedFetch({ policy: once }, { key: () => key, retries: 0, fetch: answer })
  const held = await heldBy(async (one) => {
    key = one
    await (await fetch("http://partner.test/")).text()
    key = ""
  })
  expect(held).toBeLessThan(FEW)
  await fetch.close()
})

test("hits that a drop-in store may take back keep no body in memory", async () => {
  const store = sluiceStore({ store: memoryStore() })
  store.init({ windowMs: 3_600_000, limit: 5, skipFailedRequests: true } as never)
  const held = await heldBy((key) => store.increment(key))
  expect(held).toBeLessThan(FEW)
  await store.shutdown()
})
