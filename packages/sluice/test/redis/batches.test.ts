import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createLimiter, slidingLog, tokenBucket } from "sluice"
import { ioredis, type RedisClient, redisStore } from "sluice/redis"
import { policyRef } from "sluice/store"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"
import { watch } from "../support/watched-client.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
})
beforeEach(() => client.flushall())
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const policy = tokenBucket({ capacity: 100, refill: 1, every: "1m" })

describe("requests are batched into calls", () => {
  test("a clock that throws while replies arrive fails only its own request", async () => {
    let fails = false
    const clock = () => (fails ? Number.NaN : 1e12)
    const one = tokenBucket({ capacity: 1, refill: 1, every: "1m" })
    const store = unguarded(redisStore(ioredis(client), { clock }))
    const limiter = createLimiter({ policy: one, store })
    await limiter.tryAcquire("denied")
    const requests = ["denied", "b", "c"].map((key) => limiter.tryAcquire(key))
    await new Promise((resolve) => process.nextTick(resolve))
    fails = true
    const settled = await Promise.allSettled(requests)
    expect(settled.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"])
  })

  test("a single request is sent in the same tick, without a timer", async () => {
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through) })
    const asked = limiter.tryAcquire("k")
    await new Promise((resolve) => process.nextTick(resolve))
    expect(calls).toEqual([1])
    await asked
  })

  test.each([2, 8, 32, 100])("%i requests of one tick share one call", async (requests) => {
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through) })
    await limiter.tryAcquire("warm")
    calls.length = 0
    const decisions = await Promise.all(
      Array.from({ length: requests }, (_, i) => limiter.tryAcquire(`k${i}`)),
    )
    expect(decisions.every(({ allowed, remaining }) => allowed && remaining === 99)).toBe(true)
    expect(calls).toEqual([requests])
  })

  test("requests that arrive during four calls in flight share the next call", async () => {
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through) })
    await limiter.tryAcquire("warm")
    calls.length = 0
    const turn = () => new Promise((resolve) => process.nextTick(resolve))
    const requests: Promise<unknown>[] = []
    for (let i = 0; i < 20; i += 1) {
      requests.push(limiter.tryAcquire(`k${i}`))
      await turn()
    }
    expect(calls).toEqual([1, 1, 1, 1])
    await Promise.all(requests)
    // In one call, or in as many as had replies at the same time.
    expect(calls.length).toBeLessThanOrEqual(8)
    expect(calls.reduce((sum, keys) => sum + keys, 0)).toBe(20)
  })

  test("no call carries more than 100 requests", async () => {
    const { client: through, calls, most } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through) })
    await limiter.tryAcquire("warm")
    calls.length = 0
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => limiter.tryAcquire(`k${i}`)))
    expect(Math.max(...calls)).toBe(100)
    expect(calls.reduce((sum, keys) => sum + keys, 0)).toBe(1_000)
    expect(most()).toBeLessThanOrEqual(10)
  })

  test("requests of different policies, costs and modes share a call", async () => {
    const clock = manualClock()
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through, { clock }) })
    const log = slidingLog({ limit: 7, window: "1m" })
    const requests = await Promise.all([
      limiter.tryAcquire("a"),
      limiter.tryAcquire("b", { cost: 3 }),
      limiter.peek("a", { cost: 5 }),
      limiter.tryAcquire("a", { policy: { log, policy }, cost: { log: 2, policy: 4 } }),
      limiter.refund("b", 1),
      limiter.peek("b"),
      limiter.tryAcquire("c", { policy: log }),
      limiter.tryAcquire("c", { policy: log, cost: 8 }),
    ])
    expect(calls.length).toBeLessThanOrEqual(4)
    expect(requests.map((decision) => decision?.remaining)).toEqual([99, 97, 99, 5, undefined, 98, 6, 6])
  })

  test("a key of another type fails only its own request", async () => {
    await client.hset(redisKey("default", "bad", "default", "tb"), "a", "b")
    await client.set(redisKey("default", "short", "default", "tb"), "x")
    const limiter = createLimiter({ policy, store: redisStore(ioredis(client)) })
    const keys = ["a", "bad", "b", "short", "c", "bad", "d", "e"]
    const outcomes = await Promise.allSettled(keys.map((key) => limiter.tryAcquire(key)))
    expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(
      keys.map((key) => key !== "bad" && key !== "short"),
    )
    expect(outcomes[1]).toMatchObject({ reason: { code: "STORE_REFUSED" } })
    expect(outcomes[3]).toMatchObject({ reason: { code: "STORE_UNKNOWN" } })
    expect(await client.hget(redisKey("default", "bad", "default", "tb"), "a")).toBe("b")
    for (const key of ["a", "b", "c", "d", "e"]) expect((await limiter.peek(key)).remaining).toBe(99)
  })

  test("a list that is not a log fails only its own request, before any other policy is spent", async () => {
    const log = slidingLog({ limit: 10, window: "1m" })
    const limiter = createLimiter({ policy: log, store: redisStore(ioredis(client)) })
    const keys = Array.from({ length: 16 }, (_, i) => `k${i}`)
    for (const key of keys) await limiter.tryAcquire(key)
    const bad = ["k1", "k6", "k11"]
    for (const [i, key] of bad.entries()) {
      const name = redisKey("default", key, "default", "sl")
      const base = await client.lindexBuffer(name, 0)
      await client.del(name)
      // Without any valid entry, with a valid base only, and with a valid newest entry only.
      if (i === 0) await client.rpush(name, "x", "y")
      if (i === 1) await client.rpush(name, base as Buffer, "x")
      if (i === 2) await client.rpush(name, base as Buffer, "x", base as Buffer)
    }
    const outcomes = await Promise.allSettled(keys.map((key) => limiter.tryAcquire(key)))
    const failed = keys.filter((_, i) => outcomes[i]?.status === "rejected")
    expect(failed).toEqual(bad)
    for (const key of keys) if (!bad.includes(key)) expect((await limiter.peek(key)).remaining).toBe(8)
  })

  test("calls without a reply delay other calls by at most one second", async () => {
    let lost = 4
    const losing: RedisClient = {
      ...ioredis(client),
      run: (...call) => (lost-- > 0 ? new Promise(() => {}) : ioredis(client).run(...call)),
    }
    const limiter = createLimiter({ policy, store: unguarded(redisStore(losing)) })
    for (let i = 0; i < 4; i += 1) {
      limiter.tryAcquire(`lost ${i}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const held = limiter.tryAcquire("held")
    await sleep(1_050)
    expect(await Promise.race([held, "waiting"])).toBe("waiting")
    expect((await limiter.tryAcquire("later")).remaining).toBe(99)
    expect((await held).remaining).toBe(99)
  })

  test("keys of a migrating slot, which rejects calls with several keys, are sent one per call", async () => {
    const sizes: number[] = []
    const moving: RedisClient = {
      ...ioredis(client),
      async run(...call) {
        const { length } = call[2]
        sizes.push(length)
        if (length > 1) throw new Error("TRYAGAIN Multiple keys request during rehashing of slot")
        return ioredis(client).run(...call)
      },
    }
    const limiter = createLimiter({ policy, store: redisStore(moving) })
    await limiter.tryAcquire("warm")
    const decisions = await Promise.all(Array.from({ length: 12 }, (_, i) => limiter.tryAcquire(`k${i}`)))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array(12).fill(99))
    expect(sizes.filter((keys) => keys > 1)).toEqual([12])
  })

  test("a request with several policies in a migrating slot is retried with exponential backoff", async () => {
    let calls = 0
    const moving: RedisClient = {
      ...ioredis(client),
      async run() {
        calls += 1
        throw new Error("TRYAGAIN Multiple keys request during rehashing of slot")
      },
    }
    const limiter = createLimiter({ policy: { policy, other: policy }, store: unguarded(redisStore(moving)) })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    // 4, 8, 16, … 256 ms and the rest of 500 ms.
    expect(calls).toBeGreaterThan(5)
    expect(calls).toBeLessThan(11)
  })

  test.each([
    () => Number.NaN,
    () => 1n,
    () => {
      throw new Error("LOADING")
    },
  ])("a clock that throws rejects the request, and nothing is sent", async (clock) => {
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through, { clock: clock as () => number }) })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "INVALID_OPTION" })
    expect(calls).toEqual([])
  })

  test("a refund and a reset keep their order among the requests", async () => {
    const limiter = createLimiter({ policy, store: redisStore(ioredis(client), { clock: manualClock() }) })
    const requests = Array.from({ length: 300 }, () => limiter.tryAcquire("k"))
    const reset = limiter.reset("k")
    const after = limiter.tryAcquire("k", { cost: 3 })
    await Promise.all([...requests, limiter.refund("k", 1), reset])
    expect((await after).remaining).toBe(97)
    expect((await limiter.peek("k")).remaining).toBe(98)
  })

  test.each([
    ["logs", slidingLog({ limit: 100, window: "1h" }), 40],
    ["buckets", tokenBucket({ capacity: 100, refill: 1, every: "1h" }), 100],
  ])("the number of requests per call depends on their estimated work: %s", async (name, policy, most) => {
    const { client: through, calls } = watch(ioredis(client))
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, policy]))
    const limiter = createLimiter({ name, policy: many, store: redisStore(through) })
    const decisions = await Promise.all(Array.from({ length: 40 }, (_, i) => limiter.tryAcquire(`k${i}`)))
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    expect(Math.max(...calls)).toBe(most)
  })

  test("at most 100,000 requests wait to be sent, and the next is rejected at once", async () => {
    const silent: RedisClient = { ...ioredis(client), run: () => new Promise(() => {}) }
    const store = unguarded(redisStore(silent))
    const request = () =>
      store.decide({
        policies: [{ ref: policyRef("n", "p"), key: "k", policy, cost: 1 }],
        count: 1,
        mode: "spend",
      })
    for (let i = 0; i < 100_000; i += 1) request()
    await expect(request()).rejects.toMatchObject({ code: "STORE_REFUSED" })
  })

  test("a request without policies is granted without a call", async () => {
    const { client: through, calls } = watch(ioredis(client))
    const store = unguarded(redisStore(through))
    expect(await store.decide({ policies: [], count: 3, mode: "spend" })).toMatchObject({
      granted: 3,
      levels: [],
    })
    await store.giveBack([])
    await store.forget([])
    expect(calls).toEqual([])
  })

  test.each([Object.create(null), Object.assign(new Error(), { message: undefined }), undefined])(
    "whatever a client throws rejects its requests, and later requests pass",
    async (thrown) => {
      let failing = 6
      const throwing: RedisClient = {
        ...ioredis(client),
        run: (...call) => {
          if (failing-- > 0) throw thrown
          return ioredis(client).run(...call)
        },
      }
      const limiter = createLimiter({ policy, store: unguarded(redisStore(throwing)) })
      for (let i = 0; i < 6; i += 1) {
        await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
      }
      expect((await limiter.tryAcquire("k")).remaining).toBe(99)
    },
  )
})
