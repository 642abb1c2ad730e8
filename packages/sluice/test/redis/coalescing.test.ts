import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, slidingLog, tokenBucket } from "sluice"
import { ioredis, type RedisClient, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
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

describe("requests of one key", () => {
  test("requests in one call see each other, even with different policy objects", async () => {
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({ policy, store: redisStore(through, { denyCache: false }) })
    const request = () =>
      limiter.tryAcquire("k", { policy: tokenBucket({ capacity: 3, refill: 1, every: "1m" }) })
    expect(await request()).toMatchObject({ allowed: true, remaining: 2 })
    calls.length = 0
    const requests = [request(), limiter.tryAcquire("other"), request(), request()]
    const more = Array.from({ length: 12 }, (_, i) => limiter.tryAcquire(`more-${i}`))
    const decisions = await Promise.all([...requests, ...more])
    expect(calls).toEqual([16])
    expect(decisions.slice(0, 4).map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [true, 99],
      [true, 0],
      [false, 0],
    ])
    const alike = await Promise.all([
      limiter.tryAcquire("other"),
      limiter.tryAcquire("other", { policy: { ...policy } }),
    ])
    expect(alike.map(({ remaining }) => remaining)).toEqual([98, 97])
  })

  test("equal requests become one, and each reply has its own remaining units", async () => {
    const clock = manualClock()
    const { client: through, calls } = watch(ioredis(client))
    const store = redisStore(through, { clock, denyCache: false })
    const record = {
      bucket: tokenBucket({ capacity: 70, refill: 700_000, every: "1s" }),
      steps: tokenBucket({ capacity: 210, refill: 7, every: "1s", mode: "interval" }),
      window: fixedWindow({ limit: 100, window: "1m" }),
      log: slidingLog({ limit: 140, window: "1m" }),
    }
    const limiter = createLimiter({ policy: record, store })
    const cost = { bucket: 1, steps: 3, window: 1, log: 2 }
    await limiter.peek("k")
    calls.length = 0
    const decisions = await Promise.all(Array.from({ length: 90 }, () => limiter.tryAcquire("k", { cost })))
    // One key per policy.
    expect(calls).toEqual([4])
    for (const [i, { allowed, policies, retryAfter }] of decisions.entries()) {
      const spent = Math.min(i + 1, 70)
      expect(allowed).toBe(i < 70)
      expect(policies?.map(({ remaining }) => remaining)).toEqual([
        70 - spent,
        210 - 3 * spent,
        100 - spent,
        140 - 2 * spent,
      ])
      expect(retryAfter).toBe(i < 70 ? 0 : 60_000)
    }
  })

  test("a request of another cost in between keeps its order, and equal peeks become one too", async () => {
    const { client: through, calls } = watch(ioredis(client))
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 7, window: "1m" }),
      store: redisStore(through, { clock: manualClock(), denyCache: false }),
    })
    await limiter.peek("k")
    calls.length = 0
    const costs = [1, 1, 5, 1, 1, 5, 1]
    const requests = costs.map((cost) => limiter.tryAcquire("k", { cost }))
    const peeks = [limiter.peek("k"), limiter.peek("k")]
    expect((await Promise.all(requests)).map(({ allowed }) => allowed)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ])
    expect((await Promise.all(peeks)).map(({ remaining }) => remaining)).toEqual([0, 0])
    expect(calls.reduce((sum, keys) => sum + keys, 0)).toBe(6)
  })

  test("requests of one key in one call are decided in their order", async () => {
    const clock = manualClock()
    const store = redisStore(ioredis(client), { clock })
    for (const each of [
      fixedWindow({ limit: 10, window: "1m" }),
      slidingLog({ limit: 10, window: "1m" }),
      tokenBucket({ capacity: 10, refill: 1, every: "1h" }),
    ]) {
      const limiter = createLimiter({ name: each.algorithm, policy: each, store })
      const decisions = await Promise.all(Array.from({ length: 14 }, () => limiter.tryAcquire("k")))
      expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0])
      expect(decisions.map(({ allowed }) => allowed).lastIndexOf(true)).toBe(9)
    }
  })

  test("requests for a hot key join equal ones that wait, and are delayed by at most one second", async () => {
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
    const held = limiter.tryAcquire("hot")
    await sleep(1_050)
    const [first, second] = await Promise.all([held, limiter.tryAcquire("hot")])
    expect([first.remaining, second.remaining]).toEqual([99, 98])
  })
})
