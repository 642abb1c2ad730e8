import { Redis } from "ioredis"
import { combine, createLimiter, fixedWindow, memoryStore, slidingLog, tokenBucket } from "sluice"
import { ioredis, ioredisSettings, redisStore } from "sluice/redis"
import { createRules } from "sluice/rules"
import type { RedisServer } from "../support/redis-server.js"

/** Has everything happen that an event tells of, on a real Redis. */
export async function busyRun(server: RedisServer): Promise<void> {
  const redis = new Redis({ ...ioredisSettings, host: server.host, port: server.port, lazyConnect: true })
  redis.on("error", () => {})
  await redis.connect()
  const client = ioredis(redis)
  let failures = 0
  const flaky = {
    ...client,
    run(...call: Parameters<typeof client.run>) {
      failures -= 1
      if (failures >= 0) return Promise.reject(new Error("LOADING Redis is loading the dataset in memory"))
      return client.run(...call)
    },
  }
  const store = redisStore(flaky)
  const rules = createRules(store)
  const api = createLimiter({
    name: "api",
    policy: {
      burst: fixedWindow({ limit: 5, window: "1m" }),
      daily: slidingLog({ limit: 50, window: "1d" }),
    },
    store,
    rules,
  })
  await rules.block({ limiter: "api", key: "blocked" })
  failures = 1
  await api.tryAcquire("blocked")
  for (let i = 0; i < 7; i += 1) await api.tryAcquire("ann")
  const reservation = await api.reserve("bob", { cost: { burst: 1, daily: 10 } })
  await reservation.settle({ daily: 5 })
  await api.charge("bob", { daily: 3 })

  const watched = createLimiter({
    name: "watched",
    policy: fixedWindow({ limit: 1, window: "1m" }),
    store,
    rules,
    mode: "observe",
  })
  await watched.tryAcquire("k")
  await watched.tryAcquire("k")
  await watched.acquire("k")
  await combine([api.on("cy"), watched.on("cy")]).tryAcquire()

  const queue = createLimiter({
    name: "queue",
    policy: tokenBucket({ capacity: 1, refill: 100, every: "1s" }),
    store,
  })
  await Promise.all([queue.acquire("k"), queue.acquire("k"), queue.acquire("k")])
  await queue.tryAcquire("k", { timeout: 1 })

  const leased = createLimiter({
    name: "leased",
    policy: tokenBucket({ capacity: 100_000, refill: 1_000, every: "1s" }),
    store,
    lease: true,
  })
  for (let i = 0; i < 200; i += 1) await leased.tryAcquire("k")
  await leased.close()

  const lost = createLimiter({
    name: "lost",
    policy: fixedWindow({ limit: 5, window: "1m" }),
    store: redisStore({ run: () => Promise.reject(new Error("ECONNREFUSED")) }, { retryFor: 0 }),
    outage: { then: "open" },
  })
  for (let i = 0; i < 8; i += 1) await lost.tryAcquire("k")

  await createLimiter({ policy: fixedWindow({ limit: 5, window: "1m" }), store: memoryStore() }).tryAcquire(
    "k",
  )
  rules.close()
  redis.disconnect()
}
