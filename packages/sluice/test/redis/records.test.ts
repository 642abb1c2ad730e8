import { setTimeout as sleep } from "node:timers/promises"
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

const record = (limiter: string, key: string) => redisKey(limiter, key, "", "ps")
const remainingOf = async (limiter: { peek(key: string): Promise<unknown> }, key = "k") => {
  const { policies = [] } = (await limiter.peek(key)) as {
    policies?: { policy: string; remaining: number }[]
  }
  return Object.fromEntries(policies.map(({ policy, remaining }) => [policy, remaining]))
}

describe("policies that have names", () => {
  test("share one key, but for logs", async () => {
    const limiter = createLimiter({
      name: "a",
      policy: { second, hour, log },
      store: redisStore(ioredis(client)),
    })
    await limiter.tryAcquire("k")
    await limiter.tryAcquire("k")
    expect((await client.keys("*")).sort()).toEqual(
      [record("a", "k"), redisKey("a", "k", "log", "sl")].sort(),
    )
    expect(await remainingOf(limiter)).toEqual({ second: 3, hour: 18, log: 28 })
  })

  test("come and go, and what others have counted stays", async () => {
    const store = () => redisStore(ioredis(client), { clock })
    const clock = manualClock()
    const before = createLimiter({ name: "a", policy: { second, hour }, store: store() })
    await before.tryAcquire("k", { cost: 2 })
    const after = createLimiter({ name: "a", policy: { hour, day }, store: store() })
    for (let i = 0; i < 3; i += 1) expect((await after.tryAcquire("k")).allowed).toBe(true)
    expect(await remainingOf(after)).toEqual({ hour: 15, day: 47 })
    expect(await remainingOf(before)).toEqual({ second: 3, hour: 15 })
    // in turns, each with its own in front
    for (let i = 0; i < 2; i += 1) {
      await before.tryAcquire("k", { cost: { second: 1, hour: 0 } })
      await after.tryAcquire("k")
    }
    expect(await remainingOf(after)).toEqual({ hour: 13, day: 45 })
    expect(await remainingOf(before)).toEqual({ second: 1, hour: 13 })
  })

  test("are forgotten one by one, and the key with the last of them", async () => {
    const store = redisStore(ioredis(client))
    const limiter = createLimiter({ name: "a", policy: { second, hour }, store })
    await limiter.tryAcquire("k", { cost: 2 })
    await limiter.reset("k", { policy: { second } })
    expect(await remainingOf(limiter)).toEqual({ second: 5, hour: 18 })
    await limiter.reset("k", { policy: { hour } })
    // but for notes of that
    expect((await client.keys("*")).filter((key) => !key.endsWith(":fg"))).toEqual([])
  })

  test.each([
    ["alone", { second, day }],
    ["with a log", { second, day, log }],
    ["with parts", { second, day, parts: tokenBucket({ capacity: 50, refill: 7, every: "1s" }) }],
  ])("are kept for as long as the longest of them, whichever was written last: %s", async (_name, policy) => {
    const limiter = createLimiter({ name: "a", policy, store: redisStore(ioredis(client)) })
    await limiter.tryAcquire("k")
    for (let i = 0; i < 3; i += 1) {
      await limiter.tryAcquire("k", { cost: { second: 1, day: 0 } })
      const left = await client.pttl(record("a", "k"))
      expect(left).toBeGreaterThan(3_590_000)
      expect(left).toBeLessThan(3_602_000)
    }
    await limiter.reset("k", { policy: { day } })
    expect(await client.pttl(record("a", "k"))).toBeLessThan(6_000)
  })

  test("are left out of a record when they no longer matter, and others long do", async () => {
    const brief = fixedWindow({ limit: 5, window: 5 })
    const limiter = createLimiter({ name: "a", policy: { day }, store: redisStore(ioredis(client)) })
    await limiter.tryAcquire("k")
    const size = await client.strlen(record("a", "k"))
    for (let i = 0; i < 20; i += 1) await limiter.tryAcquire("k", { policy: { [`brief${i}`]: brief } })
    expect(await client.strlen(record("a", "k"))).toBeGreaterThan(3 * size)
    await sleep(1_000)
    await limiter.tryAcquire("k", { policy: { last: brief } })
    expect(await client.strlen(record("a", "k"))).toBeLessThan(3 * size)
    expect((await limiter.peek("k")).remaining).toBe(49)
  })

  test("are left out by an ask that leaves the expiry as it is too", async () => {
    const year = fixedWindow({ limit: 50, window: "365d" })
    const limiter = createLimiter({ name: "a", policy: { year }, store: redisStore(ioredis(client)) })
    await limiter.tryAcquire("k")
    const size = await client.strlen(record("a", "k"))
    await limiter.tryAcquire("k", { policy: { brief: fixedWindow({ limit: 5, window: 5 }) } })
    await limiter.tryAcquire("k")
    expect(await client.strlen(record("a", "k"))).toBeGreaterThan(size)
    await sleep(1_000)
    await limiter.tryAcquire("k")
    expect(await client.strlen(record("a", "k"))).toBe(size)
    expect((await limiter.peek("k")).remaining).toBe(47)
  })

  test("of several limiters that have the same names in another order keep their own", async () => {
    const store = redisStore(ioredis(client))
    // with a fraction of a microsecond to a unit, which is never plain
    const part = tokenBucket({ capacity: 5, refill: 7, every: "10s" })
    const users = createLimiter({ name: "users", policy: { second: part, hour }, store })
    const groups = createLimiter({ name: "groups", policy: { hour, second: part }, store })
    await combine([groups.on("g"), users.on("u")]).tryAcquire()
    const orderOf = async (name: string) => {
      const value = (await client.getBuffer(name)) as Buffer
      return value.indexOf("second:") < value.indexOf("hour:")
    }
    expect(await orderOf(record("users", "u"))).toBe(true)
    expect(await orderOf(record("groups", "g"))).toBe(false)
  })

  test("of a record that cannot be read leave a log alone that is asked with them", async () => {
    const limiter = createLimiter({ name: "a", policy: { log, second }, store: redisStore(ioredis(client)) })
    await limiter.tryAcquire("k")
    await limiter.tryAcquire("k")
    const list = redisKey("a", "k", "log", "sl")
    const length = await client.llen(list)
    await client.append(record("a", "k"), "x")
    for (let i = 0; i < 3; i += 1) await expect(limiter.tryAcquire("k")).rejects.toThrow()
    expect(await client.llen(list)).toBe(length)
  })

  test.each<[string, Record<string, Policy>, Record<string, Policy>]>([
    ["with a log", { second, log, hour }, { second, hour }],
    ["of two kinds", { second, hour }, { second, hour }],
    ["of one kind", { second, day }, { second, day }],
  ])("of several limiters are asked at once, each in its record: %s", async (_name, policy, others) => {
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
    expect(await client.exists(record("groups", "g2"))).toBe(0)
  })

  test.each([
    ["of one kind", { second, day }],
    ["of several", { second, day, hour }],
  ])(
    "fail for their caller only where a key holds something else, and can be reset: %s",
    async (_name, policy) => {
      const clock = manualClock()
      const limiter = createLimiter({ name: "a", policy, store: redisStore(ioredis(client), { clock }) })
      await limiter.tryAcquire("k")
      const whole = (await client.getBuffer(record("a", "k"))) as Buffer
      for (const [key, put] of Object.entries({
        short: () => client.set(record("a", "short"), "x"),
        text: () => client.set(record("a", "text"), "something else that is no record"),
        cut: () => client.set(record("a", "cut"), whole.subarray(0, -1)),
        longer: () => client.set(record("a", "longer"), Buffer.concat([whole, Buffer.from("x")])),
        list: () => client.rpush(record("a", "list"), "x"),
      })) {
        await put()
        const asks = ["before", key, "after"].map((each) => limiter.tryAcquire(each))
        const outcomes = await Promise.allSettled(asks)
        expect(
          outcomes.map(({ status }) => status),
          key,
        ).toEqual(["fulfilled", "rejected", "fulfilled"])
        await limiter.reset(key)
        expect((await limiter.tryAcquire(key)).allowed).toBe(true)
        await limiter.refund("before", 1)
      }
      expect(await remainingOf(limiter, "before")).toMatchObject({ second: 5, day: 50 })
    },
  )

  test("are not spent from by an ask that fails, nor by the next in its call", async () => {
    await client.call("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "-rpush")
    const restricted = new Redis(server.port, server.host, { username: "u", password: "p" })
    const store = redisStore(ioredis(restricted), { retryFor: 0 })
    const limiter = createLimiter({ name: "a", policy: { second, log, hour }, store })
    const outcomes = await Promise.allSettled([
      limiter.tryAcquire("fails"),
      limiter.tryAcquire("passes", { cost: { log: 0 } }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"])
    expect(await client.keys("*")).toEqual([record("a", "passes")])
    restricted.disconnect()
  })

  test("are not spent from where Redis cannot write", async () => {
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
      await expect(limiter.charge("k", 1)).rejects.toMatchObject({ code: "STORE_REFUSED" })
    } finally {
      await client.config("SET", "maxmemory", "0")
    }
    expect(await remainingOf(limiter)).toEqual({ second: 4, hour: 19 })
  })
})
