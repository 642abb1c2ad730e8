import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import {
  createLimiter,
  memoryStore,
  type Policies,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { costOfEach } from "../support/cost-of-each.js"
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

const logs: readonly (readonly [string, Policy])[] = [
  ["slidingLog", slidingLog({ limit: 100, window: "1s" })],
  ["slidingWindow", slidingWindow({ limit: 100, window: "1s", buckets: 100 })],
]

describe.each(["memory", "Redis"])("in %s", (where) => {
  function setUp<P extends Policy>(policy: P, options: object = {}) {
    const clock = manualClock()
    const store = where === "memory" ? memoryStore({ clock }) : redisStore(ioredis(client), { clock })
    const limiter = createLimiter({ name: crypto.randomUUID(), policy: policy as Policy, store, ...options })
    return { clock, limiter }
  }

  test.each(logs)(
    "a cancelled reservation comes back, however many entries have expired (%s)",
    async (_, policy) => {
      const { clock, limiter } = setUp(policy)
      for (let i = 0; i < 100; i += 1) {
        await limiter.tryAcquire("k")
        clock.advance(10)
      }
      clock.advance(2_000)
      await limiter.tryAcquire("k", { cost: 20 })
      const { cancel } = await limiter.reserve("k", { cost: 50 })
      expect(await limiter.peek("k")).toMatchObject({ remaining: 30 })
      expect(await cancel()).toBe(true)
      expect(await limiter.peek("k")).toMatchObject({ remaining: 80 })
    },
  )

  test("a cancelled turn leaves nothing spent, even after a refund of more than was spent", async () => {
    const { limiter } = setUp(slidingLog({ limit: 10, window: "1d" }), { maxWait: "2d" })
    const { cancel } = await limiter.reserve("k", { cost: 10 })
    await limiter.refund("k", 10)
    await limiter.tryAcquire("k", { cost: 4 })
    const stop = new AbortController()
    const waited = limiter.acquire("k", { cost: 8, signal: stop.signal }).catch((reason: unknown) => reason)
    await cancel()
    stop.abort("enough")
    expect(await waited).toBe("enough")
    expect(await limiter.peek("k", { cost: 10 })).toMatchObject({ allowed: true, remaining: 10 })
  })

  test("the debt of an interval bucket is paid within maxWait and two periods", async () => {
    const hourly = tokenBucket({ capacity: 1, refill: 1, every: "1h", mode: "interval" })
    for (const [maxWait, hours] of [
      [1, 2],
      ["1h", 3],
    ] as const) {
      const { limiter } = setUp(hourly, { maxWait })
      for (let i = 0; i < 9; i += 1) await limiter.charge("k", 1)
      expect(await limiter.peek("k")).toMatchObject({ retryAfter: hours * 3_600_000 })
    }
  })
})

describe("on Redis, with the server's clock, the note of a reset", () => {
  const bucket = tokenBucket({ capacity: 10, refill: 10, every: "2s" })

  function setUp<P extends Policies>(policy: P) {
    const name = crypto.randomUUID()
    const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client), { denyCache: false }) })
    const notes = () => client.keys(`*}${name}:*:fg`)
    return { limiter, notes }
  }

  test("exists only if something was spent, and expires when that would have expired", async () => {
    for (const policy of [bucket, { bucket, log: slidingLog({ limit: 5, window: "2s" }) }]) {
      const { limiter, notes } = setUp(policy as Policies)
      await limiter.reset("k")
      expect(await notes()).toEqual([])
      await limiter.tryAcquire("k", { cost: costOfEach(policy, 4) })
      await limiter.reset("k")
      const noted = await notes()
      expect(noted).toHaveLength(policy === bucket ? 1 : 2)
      for (const key of noted) {
        expect(await client.pttl(key)).toBeGreaterThan(500)
        expect(await client.pttl(key)).toBeLessThan(3_000)
      }
      expect(await limiter.peek("k")).toMatchObject({ resetAfter: 0 })
    }
  })

  test("is not shortened by a later reset of less", async () => {
    const { limiter } = setUp(bucket)
    const before = await limiter.reserve("k", { cost: 10 })
    await limiter.reset("k")
    await limiter.tryAcquire("k")
    await limiter.reset("k")
    await sleep(1_200)
    await limiter.tryAcquire("k", { cost: 10 })
    expect(await before.cancel()).toBe(true)
    expect((await limiter.peek("k")).remaining).toBeLessThan(2)
  })

  test("removes turns that were given back before it", async () => {
    const { limiter } = setUp(bucket)
    await using elsewhere = createLimiter({
      name: limiter.name,
      policy: bucket,
      store: redisStore(ioredis(client)),
    })
    const stop = new AbortController()
    await limiter.tryAcquire("k", { cost: 10 })
    const left = limiter.acquire("k", { cost: 5, signal: stop.signal }).catch(() => {})
    await limiter.peek("k")
    // So the turn before it cannot be removed from the queue.
    const behind = elsewhere.acquire("k", { cost: 5 })
    await elsewhere.peek("k")
    stop.abort()
    await left
    await limiter.peek("k")
    // A request of another cost fits into the gap.
    expect((await limiter.peek("k", { cost: 4 })).retryAfter).toBeLessThan(1_000)
    await limiter.reset("k")
    await limiter.tryAcquire("k", { cost: 10 })
    await limiter.acquire("k", { cost: 5 })
    // Spend everything that has come back.
    expect((await limiter.peek("k")).remaining).toBeLessThan(3)
    await behind
  })

  test.each([
    ["a list", (key: string) => client.rpush(key, "1")],
    ["some text", (key: string) => client.set(key, "nonsense")],
    ["nonsense as long as a note", (key: string) => client.set(key, Buffer.alloc(14, 255))],
  ])("is ignored if it is %s, and repaired by the next reset", async (_, write) => {
    const { limiter, notes } = setUp({ bucket, log: slidingLog({ limit: 10, window: "2s" }) })
    await limiter.tryAcquire("k")
    await limiter.reset("k")
    for (const key of await notes()) {
      await client.del(key)
      await write(key)
    }
    const { decision, cancel } = await limiter.reserve("k", { cost: { bucket: 6, log: 6 } })
    expect(decision).toMatchObject({ allowed: true, remaining: 4 })
    expect(await cancel()).toBe(true)
    expect(await limiter.peek("k")).toMatchObject({ remaining: 10 })
    const before = await limiter.reserve("k", { cost: { bucket: 6, log: 6 } })
    await limiter.reset("k")
    await limiter.tryAcquire("k", { cost: { bucket: 10, log: 10 } })
    await before.cancel()
    expect((await limiter.peek("k")).remaining).toBeLessThan(3)
  })
})
