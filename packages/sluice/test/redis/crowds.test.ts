import { Redis } from "ioredis"
import { createLimiter, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import type { Crowd, CrowdReport } from "../support/waiter-workers.js"
import { watch } from "../support/watched-client.js"
import { startWorkers, type Workers } from "../support/workers.js"

let server: RedisServer
let workers: Workers<Crowd, CrowdReport>
beforeAll(async () => {
  server = await startRedis()
  workers = await startWorkers("waiter-worker.ts", [String(server.port)], 1)
})
afterAll(async () => {
  await workers.kill()
  await server.stop()
})

describe("ten thousand waiters, half of them aborted before the limiter is closed", () => {
  const crowds: Crowd[] = [
    { on: "memory", waiters: 10_000, keys: 1, signals: 1 },
    { on: "memory", waiters: 10_000, keys: 1_000, signals: 5_000 },
    { on: "redis", waiters: 10_000, keys: 1, signals: 5_000 },
    { on: "redis", waiters: 10_000, keys: 100, signals: 50 },
  ]

  test.each(crowds)("use one timer and leave no memory behind: %o", async (crowd) => {
    const [report] = (await workers.work([crowd])) as [CrowdReport]
    console.log(`${JSON.stringify(crowd)}: ${JSON.stringify(report)}`)
    const { had = 0, CLOSED: closed = 0, "gave up": gaveUp = 0 } = report.ends
    expect(had).toBe(crowd.keys)
    expect(gaveUp).toBeGreaterThanOrEqual(5_000 - crowd.keys)
    expect(had + closed + gaveUp).toBe(10_000)
    expect(report.timers).toBeLessThanOrEqual(1)
    expect(report.warnings).toEqual([])
    // A waiter takes about 1 kB, so the test notices if one in twenty is left behind.
    expect(report.grown).toBeLessThan(500_000)
  })
})

describe("a thousand waiters for one key take at most 1.1 calls per turn", () => {
  test.each([
    ["all at once", 1_000],
    ["one after the other", 1],
  ])("when they arrive %s", async (_, together) => {
    const client = new Redis(server.port, server.host)
    const { client: watched, calls } = watch(ioredis(client))
    const policy = tokenBucket({ capacity: 1, refill: 1, every: 1 })
    const limiter = createLimiter({ name: `crowd of ${together}`, policy, store: redisStore(watched) })
    const waits: Promise<unknown>[] = []
    for (let i = 0; i < 1_000; i += 1) {
      waits.push(limiter.acquire("k"))
      if (waits.length % together === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(waits)
    console.log(`${together} at once: ${calls.length / 1_000} calls for each turn`)
    expect(calls.length).toBeLessThanOrEqual(1_100)
    await limiter.close()
    client.disconnect()
  })
})
