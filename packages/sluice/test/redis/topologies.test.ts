import { Cluster, Redis } from "ioredis"
import { createCluster, createSentinel } from "redis"
import { createLimiter, fixedWindow, type Store, slidingLog, tokenBucket } from "sluice"
import { ioredis, nodeRedis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
  startCluster,
  startRedis,
  startReplica,
  startSentinel,
} from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"

const policy = {
  burst: tokenBucket({ capacity: 5, refill: 1, every: "1m" }),
  daily: fixedWindow({ limit: 100, window: "1d", align: "clock" }),
  exact: slidingLog({ limit: 50, window: "1h" }),
}

async function holdsLimits(store: Store) {
  const limiter = createLimiter({ name: "topology", policy, store })
  for (const key of ["a", "b", "用户", "{x}", "}{", "slot:7"]) {
    await limiter.reset(key)
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.tryAcquire(key)))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
    await limiter.refund(key, 2)
    expect((await limiter.peek(key)).policies?.map(({ remaining }) => remaining)).toEqual([2, 97, 47])
  }
  await limiter.close()
}

describe("a Cluster of three masters", () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startCluster(3)
  })
  afterAll(() => cluster.stop())

  test("holds several policies per key through ioredis", async () => {
    const client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
    await holdsLimits(redisStore(ioredis(client)))
    client.disconnect()
  })

  test("holds several policies per key through node-redis", async () => {
    const client = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) })
    await client.connect()
    await holdsLimits(redisStore(nodeRedis(client)))
    client.destroy()
  })
})

describe("a master with a replica and a sentinel", () => {
  let servers: RedisServer[]
  let sentinel: RedisSentinel
  beforeAll(async () => {
    const master = await startRedis()
    const replica = await startReplica(master)
    sentinel = await startSentinel(master)
    servers = [sentinel, replica, master]
  })
  afterAll(() => Promise.all(servers.map((server) => server.stop())))

  test("holds limits through ioredis", async () => {
    const client = new Redis({
      sentinels: [{ host: sentinel.host, port: sentinel.port }],
      name: sentinel.master,
    })
    await holdsLimits(redisStore(ioredis(client)))
    client.disconnect()
  })

  test("holds limits through node-redis", async () => {
    const client = createSentinel({
      name: sentinel.master,
      sentinelRootNodes: [{ host: sentinel.host, port: sentinel.port }],
    })
    await client.connect()
    await holdsLimits(redisStore(nodeRedis(client)))
    client.destroy()
  })

  test.each([0, 50, 1_100])(
    "a replica is read-only: the call is not executed, tried for %d ms",
    async (retryFor) => {
      const client = new Redis(servers[1]?.port as number)
      const limiter = createLimiter({ policy, store: unguarded(redisStore(ioredis(client), { retryFor })) })
      await client.config("RESETSTAT")
      const startedAt = performance.now()
      await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
      const attempts = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info("commandstats"))?.[1])
      expect(performance.now() - startedAt).toBeLessThan(retryFor + 500)
      if (retryFor === 0) expect(attempts).toBe(1)
      else expect(attempts).toBeGreaterThan(2)
      client.disconnect()
    },
  )
})
