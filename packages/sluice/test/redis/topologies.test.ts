import { Decoder, GlideClient } from "@valkey/valkey-glide"
import { Redis } from "ioredis"
import * as redis6 from "redis"
import * as redis5 from "redis5"
import { createLimiter, fixedWindow, type Store, slidingLog, tokenBucket } from "sluice"
import { glide, ioredis, library, nodeRedis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { clientKinds } from "../support/clients.js"
import {
  command,
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
    await limiter.refund(key, { burst: 2, daily: 2, exact: 2 })
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

  test.each(clientKinds)("holds several policies per key through $name", async (kind) => {
    const { client, close } = await kind.cluster(cluster.nodes[0]?.port as number)
    expect(client.clustered).toBe(true)
    await holdsLimits(redisStore(client))
    await close()
  })

  test.each(clientKinds)("decides the first concurrent requests of a process through $name", async (kind) => {
    const { client, close } = await kind.cluster(cluster.nodes[0]?.port as number)
    const limiter = createLimiter({ name: `first asks, ${kind.name}`, policy, store: redisStore(client) })
    const decisions = await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.tryAcquire(`k${i}`)))
    expect(decisions.filter(({ allowed, source }) => allowed && source === "store")).toHaveLength(200)
    await limiter.close()
    await close()
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

  for (const { name, sentinel: connect } of clientKinds) {
    if (connect === undefined) continue
    test(`holds limits through ${name}`, async () => {
      const { client, close } = await connect(sentinel.port, sentinel.master)
      expect(client.clustered).toBe(false)
      await holdsLimits(redisStore(client))
      await close()
    })
  }

  test.each([
    ["node-redis 6", () => redis6.createClientPool({ socket: { port: servers[2]?.port as number } })],
    ["node-redis 5", () => redis5.createClientPool({ socket: { port: servers[2]?.port as number } })],
  ])("holds limits through a pool of %s", async (_, create) => {
    const pool = create()
    await pool.on("error", () => {}).connect()
    await holdsLimits(redisStore(nodeRedis(pool)))
    pool.destroy()
  })

  test("holds limits through valkey-glide, which finds the master among the addresses", async () => {
    const addresses = servers.slice(1).map(({ host, port }) => ({ host, port }))
    const client = await GlideClient.createClient({ addresses, defaultDecoder: Decoder.Bytes })
    await holdsLimits(redisStore(glide(client)))
    client.close()
  })

  test.each([0, 50, 1_100])(
    "a call to a read-only replica does not run, with retries for %d ms",
    async (retryFor) => {
      const client = new Redis(servers[1]?.port as number)
      const limiter = createLimiter({ policy, store: unguarded(redisStore(ioredis(client), { retryFor })) })
      await command(servers[2]?.port as number, "FUNCTION", "LOAD", "REPLACE", library.text)
      await vi.waitFor(async () => expect(await client.call("FUNCTION", "LIST")).toHaveLength(1))
      await client.config("RESETSTAT")
      const startedAt = performance.now()
      await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
      // Redis refuses a writing function on a replica before it runs.
      const stats = await client.info("commandstats")
      const attempts = Number(/cmdstat_fcall:calls=0,.*rejected_calls=(\d+)/.exec(stats)?.[1])
      expect(performance.now() - startedAt).toBeLessThan(retryFor + 500)
      if (retryFor === 0) expect(attempts).toBe(1)
      else expect(attempts).toBeGreaterThan(2)
      client.disconnect()
    },
  )
})
