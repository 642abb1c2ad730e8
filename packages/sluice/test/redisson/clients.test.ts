import { Cluster, Redis } from "ioredis"
import { createCluster } from "redis"
import { ioredis, nodeRedis, type RedisClient } from "sluice/redis"
import { redissonRateLimiter } from "sluice/redisson"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { clientKinds, strict } from "../support/clients.js"
import { startProxy } from "../support/proxy.js"
import { type RedisCluster, startCluster, startRedis, startReplica } from "../support/redis-server.js"
import { java } from "../support/redisson.js"
import { useRig } from "./rig.js"

const rig = useRig()

/** Uses every method. */
async function holdsLimits(client: RedisClient, name: string) {
  await using limiter = redissonRateLimiter(client, name, { clientId: "c" })
  await limiter.delete()
  for (const type of ["OVERALL", "PER_CLIENT"] as const) {
    await limiter.setRate(type, 5, "1m")
    const asks = Array.from({ length: 20 }, () => limiter.tryAcquire())
    expect((await Promise.all(asks)).filter(({ allowed }) => allowed)).toHaveLength(5)
    const { retryAfter } = await limiter.tryAcquire(5, "10s")
    expect(retryAfter).toBeGreaterThan(50_000)
    expect(await limiter.availablePermits()).toBe(0)
    expect(await limiter.getConfig()).toEqual({ type, rate: 5, interval: 60_000, keepAliveTime: 0 })
    expect(await limiter.trySetRate(type, 9, "1m")).toBe(false)
  }
  expect(await limiter.delete()).toBe(true)
  await limiter.trySetRate("OVERALL", 2, 100)
  await Promise.all(Array.from({ length: 4 }, () => limiter.acquire()))
}

describe("a single server", () => {
  test.each(clientKinds)("holds limits through $name", async (kind) => {
    const { client, close } = await kind.single(rig.server.port)
    await holdsLimits(client, kind.name)
    await close()
  })

  test("is understood whatever types the client maps replies to", async () => {
    const strings = new Redis(rig.server.port, rig.server.host, { stringNumbers: true })
    await holdsLimits(ioredis(strings), "strings")
    strings.disconnect()
  })

  test("gets flushed scripts again", async () => {
    const { ours } = await rig.limiter(5, 60_000)
    for (let left = 4; left >= 0; left -= 1) {
      await rig.client.script("FLUSH")
      expect(await ours.tryAcquire()).toMatchObject({ allowed: true, remaining: left })
    }
  })
})

describe("a Cluster of three masters", () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startCluster(3)
  })
  afterAll(() => cluster.stop())
  const names = ["orders", "用户", "{tag}:orders", "orders:{tag}", "with space"]

  test("holds limits through ioredis, by the keys that Redisson uses", async () => {
    const client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
    for (const name of names) await holdsLimits(ioredis(client), name)
    await using limiter = redissonRateLimiter(ioredis(client), "{a}b", {})
    await limiter.trySetRate("OVERALL", 5, "1m")
    await limiter.tryAcquire(2)
    expect(await client.get("{a}b:value")).toBe("3")
    expect(await client.zcard("{a}b:permits")).toBe(1)
    client.disconnect()
  })

  test("holds limits through node-redis", async () => {
    const client = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) })
    await client.connect()
    for (const name of names) await holdsLimits(nodeRedis(client), name)
    client.destroy()
  })

  test("rejects a name with half a hash tag, as for Redisson", async () => {
    const client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
    const limiter = redissonRateLimiter(ioredis(client), "a{b", {})
    await expect(limiter.trySetRate("OVERALL", 5, "1m")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    client.disconnect()
  })
})

describe("a call that fails", () => {
  test("without a reply may have run, and is not repeated", async () => {
    const proxy = await startProxy(rig.server.port)
    const client = new Redis(proxy.port, "127.0.0.1", strict).on("error", () => {})
    onTestFinished(async () => {
      client.disconnect()
      await proxy.close()
    })
    const { name, ours } = await rig.limiter(5, 60_000)
    const cutOff = redissonRateLimiter(ioredis(client), name)
    await cutOff.tryAcquire()
    proxy.swallowReplies()
    const asks = Promise.allSettled([cutOff.tryAcquire(), cutOff.acquire()])
    await expect.poll(() => ours.availablePermits()).toBe(2)
    proxy.cut()
    for (const ask of await asks) {
      expect(ask).toMatchObject({ status: "rejected", reason: { code: "STORE_UNKNOWN" } })
    }
    expect(await ours.availablePermits()).toBe(2)
  })

  test("that certainly did not run is retried for a while, then rejects", async () => {
    const { name } = await rig.limiter(5, 60_000)
    const replica = await startReplica(rig.server)
    const client = new Redis(replica.port, replica.host)
    onTestFinished(async () => {
      client.disconnect()
      await replica.stop()
    })
    for (const [retryFor, least] of [
      [0, 1],
      [100, 3],
    ] as const) {
      await client.config("RESETSTAT")
      const limiter = redissonRateLimiter(ioredis(client), name, { retryFor })
      const refused = expect.objectContaining({ code: "STORE_REFUSED" })
      await expect(limiter.tryAcquire()).rejects.toEqual(refused)
      const stats = await client.info("commandstats")
      const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1])
      if (least === 1) expect(calls).toBe(1)
      else expect(calls).toBeGreaterThanOrEqual(least)
      const waits = await Promise.allSettled([
        limiter.acquire(),
        limiter.acquire(2),
        limiter.tryAcquire(1, "5s"),
      ])
      expect(waits).toEqual(waits.map(() => ({ status: "rejected", reason: refused })))
    }
  })

  test.each([
    ["STORE_UNKNOWN", "Connection is closed.", 1],
    ["STORE_REFUSED", "NOPERM not you", 100],
  ])(
    "with %s fails whom it may have spent permits for, or all who wait: %s",
    async (code, message, failed) => {
      const { name } = await rig.limiter(200, 60_000)
      let calls = 0
      const through = ioredis(rig.client)
      const failing: typeof through.run = async (...call) => {
        calls += 1
        const reply = await through.run(...call)
        if (calls === 1) throw new Error(message)
        return reply
      }
      const limiter = redissonRateLimiter({ ...through, run: failing }, name)
      const waits = await Promise.allSettled(Array.from({ length: 100 }, () => limiter.acquire()))
      const rejected = waits.filter(({ status }) => status === "rejected")
      expect(rejected).toHaveLength(failed)
      expect(rejected[0]).toMatchObject({ reason: { code } })
      expect(calls).toBe(failed === 100 ? 1 : 3)
    },
  )

  test("because a key has another type writes nothing", async () => {
    const { name, ours, keys } = await rig.limiter(5, 60_000)
    await rig.client.set(keys.permits, "text")
    const before = await rig.everything()
    for (const use of [
      () => ours.tryAcquire(),
      () => ours.availablePermits(),
      () => ours.setRate("OVERALL", 9, 1),
    ]) {
      await expect(use()).rejects.toMatchObject({ code: "STORE_REFUSED" })
    }
    expect(await rig.everything()).toEqual(before)
    expect(await rig.client.hget(name, "rate")).toBe("5")
  })

  test("because memory is full writes nothing", async () => {
    const full = await startRedis()
    const client = new Redis(full.port, full.host)
    onTestFinished(async () => {
      client.disconnect()
      await full.stop()
    })
    const limiter = redissonRateLimiter(ioredis(client), "full")
    await limiter.trySetRate("OVERALL", 5, "1m")
    await limiter.tryAcquire(2)
    await client.config("SET", "maxmemory", "1")
    for (const use of [() => limiter.tryAcquire(), () => limiter.setRate("OVERALL", 9, 1)]) {
      await expect(use()).rejects.toMatchObject({ code: "STORE_REFUSED" })
    }
    expect(await limiter.availablePermits()).toBe(3)
    expect((await limiter.tryAcquire(4)).allowed).toBe(false)
    expect(await java(client, "full", Date.now).tryAcquire(3).catch(String)).toMatch(/OOM/)
  })

  test("with an unreadable reply may have run", async () => {
    const { name, ours } = await rig.limiter(5, 60_000)
    const garbling = {
      ...ioredis(rig.client),
      run: async (...call: Parameters<RedisClient["run"]>) => {
        await ioredis(rig.client).run(...call)
        return ["?"]
      },
    }
    const limiter = redissonRateLimiter(garbling, name)
    for (const use of [() => limiter.tryAcquire(), () => limiter.acquire()]) {
      await expect(use()).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    }
    expect(await ours.availablePermits()).toBe(3)
  })
})
