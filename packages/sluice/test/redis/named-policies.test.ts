import { Redis } from "ioredis"
import { combine, createLimiter, fixedWindow, type Policy, slidingLog, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

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

const second = tokenBucket({ capacity: 5, refill: 1, every: "1s" })
const hour = fixedWindow({ limit: 20, window: "1h" })
const day = tokenBucket({ capacity: 50, refill: 1, every: "1h" })
const log = slidingLog({ limit: 30, window: "1h" })

const secondOf = (limiter: string, key: string) => redisKey(limiter, key, "second", "tb")
const remainingOf = async (limiter: { peek(key: string): Promise<unknown> }, key = "k") => {
  const { policies = [] } = (await limiter.peek(key)) as {
    policies?: { policy: string; remaining: number }[]
  }
  return Object.fromEntries(policies.map(({ policy, remaining }) => [policy, remaining]))
}

describe("named policies", () => {
  test("can be added and removed without changing the counts of others", async () => {
    const store = () => redisStore(ioredis(client), { clock })
    const clock = manualClock()
    const before = createLimiter({ name: "a", policy: { second, hour }, store: store() })
    await before.tryAcquire("k", { cost: { second: 2, hour: 2 } })
    const after = createLimiter({ name: "a", policy: { hour, day }, store: store() })
    for (let i = 0; i < 3; i += 1) expect((await after.tryAcquire("k")).allowed).toBe(true)
    expect(await remainingOf(after)).toEqual({ hour: 15, day: 47 })
    expect(await remainingOf(before)).toEqual({ second: 3, hour: 15 })
    // Alternating, each with its own policy first.
    for (let i = 0; i < 2; i += 1) {
      await before.tryAcquire("k", { cost: { second: 1, hour: 0 } })
      await after.tryAcquire("k")
    }
    expect(await remainingOf(after)).toEqual({ hour: 13, day: 45 })
    expect(await remainingOf(before)).toEqual({ second: 1, hour: 13 })
  })

  test("can be reset one by one, and the last one removes the key", async () => {
    const store = redisStore(ioredis(client))
    const limiter = createLimiter({ name: "a", policy: { second, hour }, store })
    await limiter.tryAcquire("k", { cost: { second: 2, hour: 2 } })
    await limiter.reset("k", { policy: { second } })
    expect(await remainingOf(limiter)).toEqual({ second: 5, hour: 18 })
    await limiter.reset("k", { policy: { hour } })
    // Except for the notes of the resets.
    expect((await client.keys("*")).filter((key) => !key.endsWith(":fg"))).toEqual([])
  })

  test("have one key each, which lives as long as its own policy needs", async () => {
    const policy = { second, hour, log }
    const limiter = createLimiter({ name: "a", policy, store: redisStore(ioredis(client)) })
    await limiter.tryAcquire("k")
    const [ofSecond, ofHour, ofLog] = [
      secondOf("a", "k"),
      redisKey("a", "k", "hour", "fw"),
      redisKey("a", "k", "log", "sl"),
    ]
    expect((await client.keys("*")).sort()).toEqual([ofSecond, ofHour, ofLog].sort())
    expect(await client.pttl(ofSecond)).toBeLessThan(3_000)
    expect(await client.pttl(ofHour)).toBeGreaterThan(3_590_000)
    expect(await client.pttl(ofLog)).toBeGreaterThan(3_590_000)
  })

  test("leave a log unchanged if another state of the request is unreadable", async () => {
    const limiter = createLimiter({ name: "a", policy: { log, second }, store: redisStore(ioredis(client)) })
    await limiter.tryAcquire("k")
    await limiter.tryAcquire("k")
    const list = redisKey("a", "k", "log", "sl")
    const length = await client.llen(list)
    await client.append(secondOf("a", "k"), "x")
    for (let i = 0; i < 3; i += 1) await expect(limiter.tryAcquire("k")).rejects.toThrow()
    expect(await client.llen(list)).toBe(length)
  })

  test.each<[string, Record<string, Policy>, Record<string, Policy>]>([
    ["with a log", { second, log, hour }, { second, hour }],
    ["of two kinds", { second, hour }, { second, hour }],
    ["of one kind", { second, day }, { second, day }],
  ])("of several limiters are decided in one atomic step: %s", async (_name, policy, others) => {
    const store = redisStore(ioredis(client))
    const users = createLimiter({ name: "users", policy, store })
    const groups = createLimiter({ name: "groups", policy: others, store })
    const [ofUser, ofGroup] = [await remainingOf(users, "u"), await remainingOf(groups, "g")]
    for (let i = 0; i < 5; i += 1) {
      expect((await combine([users.on("u"), groups.on("g")]).tryAcquire()).allowed).toBe(true)
    }
    expect((await combine([users.on("u"), groups.on("g2")]).tryAcquire()).allowed).toBe(false)
    const lessFive = ({ second: _, ...others }: Record<string, number>) =>
      Object.fromEntries(Object.entries(others).map(([name, count]) => [name, count - 5]))
    expect(await remainingOf(users, "u")).toMatchObject(lessFive(ofUser))
    expect(await remainingOf(groups, "g")).toMatchObject(lessFive(ofGroup))
    expect(await client.exists(secondOf("groups", "g2"))).toBe(0)
  })

  test.each([
    ["of one kind", { second, day }],
    ["of several", { second, day, hour }],
  ])("fail only their own request if a key has another type, and can be reset: %s", async (_name, policy) => {
    const clock = manualClock()
    const limiter = createLimiter({ name: "a", policy, store: redisStore(ioredis(client), { clock }) })
    await limiter.tryAcquire("k")
    const whole = (await client.getBuffer(secondOf("a", "k"))) as Buffer
    for (const [key, put] of Object.entries({
      short: () => client.set(secondOf("a", "short"), "x"),
      text: () => client.set(secondOf("a", "text"), "something else that is no state"),
      cut: () => client.set(secondOf("a", "cut"), whole.subarray(0, -1)),
      longer: () => client.set(secondOf("a", "longer"), Buffer.concat([whole, Buffer.from("x")])),
      list: () => client.rpush(secondOf("a", "list"), "x"),
    })) {
      await put()
      const requests = ["before", key, "after"].map((each) => limiter.tryAcquire(each))
      const outcomes = await Promise.allSettled(requests)
      expect(
        outcomes.map(({ status }) => status),
        key,
      ).toEqual(["fulfilled", "rejected", "fulfilled"])
      await limiter.reset(key)
      expect((await limiter.tryAcquire(key)).allowed).toBe(true)
      await limiter.refund("before", { second: 1, day: 1 })
    }
    expect(await remainingOf(limiter, "before")).toMatchObject({ second: 5, day: 50 })
  })

  test("are not spent while Redis cannot write", async () => {
    const clock = manualClock()
    const limiter = createLimiter({
      name: "a",
      policy: { second, hour },
      store: redisStore(ioredis(client), { clock, retryFor: 0 }),
    })
    await limiter.tryAcquire("k")
    await client.config("SET", "maxmemory", "1")
    try {
      await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
      await expect(limiter.charge("k", { second: 1, hour: 1 })).rejects.toMatchObject({
        code: "STORE_REFUSED",
      })
    } finally {
      await client.config("SET", "maxmemory", "0")
    }
    expect(await remainingOf(limiter)).toEqual({ second: 4, hour: 19 })
  })
})
