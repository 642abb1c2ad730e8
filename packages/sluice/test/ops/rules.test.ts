import { readFileSync } from "node:fs"
import { Redis } from "ioredis"
import { combine, createLimiter, fixedWindow, memoryStore, type Store, slidingLog } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { createRules } from "sluice/rules"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { files } from "../../src/stores/redis/scripts.generated.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { commandsIn } from "../support/rights.js"

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

const perHalfMinute = (limit: number) => fixedWindow({ limit, window: "30s" })
const perMinute = (limit: number) => fixedWindow({ limit, window: "1m" })
let prefixes = 0
const stores: Record<string, () => Store> = {
  memory: () => memoryStore(),
  redis: () => {
    prefixes += 1
    return redisStore(ioredis(client), { prefix: `rules${prefixes}` })
  },
}

function setUp(store: Store) {
  const rules = createRules(store)
  onTestFinished(() => rules.close())
  const limiter = createLimiter({ name: "api", policy: perMinute(3), store, rules })
  return { rules, limiter, store }
}

describe.each(Object.entries(stores))("rules on a %s store", (_, make) => {
  test("an exact rule beats the longest pattern, which beats a shorter one and the limiter's policy", async () => {
    const { rules, limiter } = setUp(make())
    await rules.set({ limiter: "api", pattern: "a*", policy: perMinute(10) })
    await rules.set({ limiter: "api", pattern: "acme:*", policy: perMinute(20) })
    await rules.set({ limiter: "api", key: "acme:7", policy: perMinute(30) })
    const limitOf = async (key: string) => (await limiter.peek(key)).limit
    expect(await Promise.all(["b", "ann", "acme:1", "acme:7"].map(limitOf))).toEqual([3, 10, 20, 30])
    await rules.remove({ limiter: "api", key: "acme:7" })
    expect(await limitOf("acme:7")).toBe(20)
  })

  test("spent units stay spent when a rule raises or lowers the limit", async () => {
    const { rules, limiter } = setUp(make())
    for (let i = 0; i < 4; i += 1) await limiter.tryAcquire("k")
    await rules.set({ limiter: "api", key: "k", policy: perMinute(5) })
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, limit: 5, remaining: 1 })
    await rules.set({ limiter: "api", key: "k", policy: perMinute(2) })
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
    await rules.remove({ limiter: "api", key: "k" })
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, limit: 3 })
  })

  test("a block denies with the time until it ends, and acquire rejects with BLOCKED", async () => {
    const { rules, limiter } = setUp(make())
    await rules.block({ limiter: "api", key: "for good" })
    await rules.block({ limiter: "api", key: "for an hour", until: "1h" })
    const never = { allowed: false, source: "rule", retryAfter: Number.POSITIVE_INFINITY, remaining: 0 }
    expect(await limiter.tryAcquire("for good")).toMatchObject(never)
    const { retryAfter } = await limiter.tryAcquire("for an hour")
    expect(retryAfter).toBeGreaterThan(3_590_000)
    expect(retryAfter).toBeLessThanOrEqual(3_600_000)
    await expect(limiter.acquire("for an hour")).rejects.toMatchObject({ code: "BLOCKED" })
    await rules.remove({ limiter: "api", key: "for good" })
    expect(await limiter.tryAcquire("for good")).toMatchObject({ allowed: true, remaining: 2 })
  })

  test("an allow lets everything pass and charges nothing", async () => {
    const { rules, limiter } = setUp(make())
    await rules.allow({ limiter: "api", key: "k" })
    for (let i = 0; i < 5; i += 1) {
      expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, source: "rule", remaining: 3 })
    }
    expect((await limiter.acquire("k")).source).toBe("rule")
    await limiter.charge("k", 2)
    await rules.remove({ limiter: "api", key: "k" })
    expect(await limiter.tryAcquire("k")).toMatchObject({ source: "store", remaining: 2 })
  })

  test("a rule that changes the algorithm, or names no policy of the limiter, is refused", async () => {
    const { rules } = setUp(make())
    const other = slidingLog({ limit: 5, window: "1m" })
    const refused = { code: "INVALID_POLICY" }
    await expect(rules.set({ limiter: "api", key: "k", policy: other })).rejects.toMatchObject(refused)
    await expect(
      rules.set({ limiter: "api", key: "k", policy: { daily: perMinute(1) } }),
    ).rejects.toMatchObject(refused)
    await expect(rules.block({ limiter: "api", pattern: "a*b" })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    })
    expect(rules.list()).toEqual([])
  })

  test("the history says who did what and why, newest first", async () => {
    const { rules } = setUp(make())
    await rules.block({ limiter: "api", key: "k", reason: "abuse", by: "ann" })
    await rules.remove({ limiter: "api", key: "k", reason: "sorry", by: "bob" })
    expect(await rules.remove({ limiter: "api", key: "k" })).toBe(false)
    expect(await rules.history()).toMatchObject([
      { version: 2, limiter: "api", key: "k", action: "remove", reason: "sorry", by: "bob" },
      { version: 1, limiter: "api", key: "k", action: "block", reason: "abuse", by: "ann" },
    ])
  })

  test("a waiter of a key that is blocked is refused, and one of a key that is raised has its turn", async () => {
    const { rules, store } = setUp(make())
    const queue = createLimiter({ name: "queue", policy: perHalfMinute(1), store, rules })
    await Promise.all([queue.acquire("blocked"), queue.acquire("raised")])
    const blocked = queue.acquire("blocked")
    const raised = queue.acquire("raised")
    await queue.peek("raised")
    await rules.block({ limiter: "queue", key: "blocked" })
    await expect(blocked).rejects.toMatchObject({ code: "BLOCKED" })
    await rules.set({ limiter: "queue", key: "raised", policy: perHalfMinute(5) })
    expect((await raised).allowed).toBe(true)
    await queue.close()
  })

  test("a blocked claim denies a combined request, and an allowed claim is not charged", async () => {
    const { rules, limiter, store } = setUp(make())
    const other = createLimiter({ name: "other", policy: perMinute(9), store, rules })
    const both = combine([limiter.on("k"), other.on("k")])
    await rules.block({ limiter: "api", key: "k" })
    expect((await both.tryAcquire()).allowed).toBe(false)
    await rules.allow({ limiter: "api", key: "k" })
    expect((await both.tryAcquire()).allowed).toBe(true)
    await rules.remove({ limiter: "api", key: "k" })
    expect((await limiter.peek("k")).remaining).toBe(3)
    expect((await other.peek("k")).remaining).toBe(8)
  })
})

test.each(Object.entries(stores))(
  "a combined waiter follows the rules of each of its limiters, on a %s store",
  async (_, make) => {
    const { rules, store } = setUp(make())
    const limits = ["first", "second"].map((name) =>
      createLimiter({ name, policy: perHalfMinute(1), store, rules }),
    )
    const waiting = (key: string) => {
      const both = combine(limits.map((limiter) => limiter.on(key)))
      const waits = both.acquire()
      waits.catch(() => {})
      return { both, waits }
    }
    for (const limiter of ["first", "second"]) {
      const [blocked, raised] = [`blocked in ${limiter}`, `raised in ${limiter}`]
      // Only the limiter with the rule is exhausted, so that its rule alone decides.
      const exhausted = limits.find(({ name }) => name === limiter)
      await Promise.all([exhausted?.acquire(blocked), exhausted?.acquire(raised)])
      const denied = waiting(blocked).waits
      const granted = waiting(raised).waits
      await exhausted?.peek(raised)
      await rules.block({ limiter, key: blocked })
      await expect(denied, blocked).rejects.toMatchObject({ code: "BLOCKED" })
      await rules.set({ limiter, key: raised, policy: perHalfMinute(5) })
      expect((await granted).allowed, raised).toBe(true)
    }
    await Promise.all(limits.map((limiter) => limiter.close()))
  },
)

test("a waiter whose booking is under way when its key is blocked is refused too", async () => {
  const direct = ioredis(client)
  let release = () => {}
  let isHeld = false
  const slow = {
    ...direct,
    async run(...call: Parameters<typeof direct.run>) {
      const reply = await direct.run(...call)
      if (isHeld && call[3].some((arg) => arg.includes('"book"'))) {
        isHeld = false
        await new Promise<void>((resolve) => {
          release = resolve
        })
      }
      return reply
    },
  }
  const { rules, limiter } = setUp(redisStore(slow, { prefix: "underway" }))
  for (let i = 0; i < 3; i += 1) await limiter.acquire("k")
  isHeld = true
  const waits = limiter.acquire("k")
  waits.catch(() => {})
  await expect.poll(() => isHeld).toBe(false)
  await rules.block({ limiter: "api", key: "k" })
  release()
  await expect(waits).rejects.toMatchObject({ code: "BLOCKED" })
  await rules.remove({ limiter: "api", key: "k" })
  // Its turn was given back.
  expect(await limiter.inspect("k")).toMatchObject({ policies: [{ used: 3, lastTurnAfter: 0 }] })
  await limiter.close()
})

test("a blocked key passes while its limiter observes, with observed: denied", async () => {
  const { rules, store } = setUp(memoryStore())
  const watched = createLimiter({ name: "watched", policy: perMinute(3), store, rules, mode: "observe" })
  await rules.block({ limiter: "watched", key: "k" })
  const passes = { allowed: true, observed: "denied", source: "rule" }
  expect(await watched.tryAcquire("k")).toMatchObject(passes)
  expect(await watched.acquire("k")).toMatchObject(passes)
  expect((await watched.reserve("k")).decision).toMatchObject(passes)
  const held = createLimiter({ name: "held", policy: perMinute(3), store, rules })
  expect(await combine([watched.on("k"), held.on("k")]).tryAcquire()).toMatchObject({ allowed: true })
  await rules.allow({ limiter: "watched", key: "k" })
  for (let i = 0; i < 5; i += 1) expect((await watched.tryAcquire("k")).observed).toBeUndefined()
})

test("the rule of a key of a megabyte is found in no time, and it is that of the longest pattern", async () => {
  const { rules, limiter } = setUp(memoryStore())
  await rules.set({ limiter: "api", pattern: `${"x".repeat(255)}*`, policy: perMinute(7) })
  await rules.set({ limiter: "api", pattern: "x*", policy: perMinute(5) })
  const key = "x".repeat(1_000_000)
  const start = performance.now()
  expect(await limiter.inspect(key)).toMatchObject({
    policies: [{ limit: 7 }],
    rule: { policies: { default: { limit: 7 } } },
  })
  expect(performance.now() - start).toBeLessThan(500)
  expect(rules.find("api", "x".repeat(254))).toMatchObject({ pattern: "x*" })
})

test("a rule ends by the clock of the store", async () => {
  const clock = manualClock()
  const { rules, limiter } = setUp(memoryStore({ clock }))
  await rules.block({ limiter: "api", key: "k", until: "10s" })
  clock.advance(9_999)
  expect((await limiter.tryAcquire("k")).retryAfter).toBe(1)
  clock.advance(1)
  expect((await limiter.tryAcquire("k")).allowed).toBe(true)
  expect(rules.list()).toEqual([])
})

test("another process reads changes, everything after it was too far behind, and keeps its rules in an outage", async () => {
  let isDown = false
  const direct = ioredis(client)
  const flaky = {
    ...direct,
    run: (...call: Parameters<typeof direct.run>) =>
      isDown ? Promise.reject(new Error("ECONNREFUSED")) : direct.run(...call),
  }
  const writer = createRules(redisStore(direct, { prefix: "far" }))
  const reader = createRules(redisStore(flaky, { prefix: "far" }))
  onTestFinished(() => {
    writer.close()
    reader.close()
  })
  await writer.block({ limiter: "api", key: "first" })
  await reader.refresh()
  expect(reader.list()).toMatchObject([{ key: "first", action: "block" }])
  isDown = true
  await expect(reader.refresh()).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
  expect(reader.list()).toHaveLength(1)
  for (let i = 0; i < 1_100; i += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, j) => writer.block({ limiter: "api", key: `k${(i + j) % 50}` })),
    )
  }
  await writer.remove({ limiter: "api", key: "first" })
  isDown = false
  await reader.refresh()
  expect(
    reader
      .list()
      .map(({ key }) => key)
      .sort(),
  ).toEqual(
    writer
      .list()
      .map(({ key }) => key)
      .sort(),
  )
  expect(reader.list()).toHaveLength(50)
  await client.del("far:{rules}now", "far:{rules}log")
  await reader.refresh()
  expect(reader.list()).toEqual([])
})

test("docs/rules.md names every right that the script of the rules needs", () => {
  const page = readFileSync(new URL("../../../../docs/rules.md", import.meta.url), "utf8")
  const listed = /^\+eval \+evalsha (.*)$/m.exec(page)?.[1]?.split(" ").sort()
  const needed = [...new Set(commandsIn(files["rules"] as string))].map((command) => `+${command}`).sort()
  expect(listed).toEqual(needed)
})

test("inspect says each policy's level in numbers and words, and the rule that applies", async () => {
  const { rules, limiter } = setUp(memoryStore())
  await limiter.tryAcquire("k")
  await rules.set({ limiter: "api", pattern: "k*", policy: perMinute(5), by: "ann" })
  expect(await limiter.inspect("k")).toMatchObject({
    key: "k",
    policies: [
      {
        policy: "default",
        limit: 5,
        remaining: 4,
        used: 1,
        words: expect.stringMatching(/^4 of 5 left, nothing spent in \d+ ms$/),
      },
    ],
    rule: { pattern: "k*", action: "limit", by: "ann" },
    mode: "enforce",
    degraded: false,
  })
  expect((await limiter.peek("k")).remaining).toBe(4)
})
