import { Cluster, Redis } from "ioredis"
import { combine, createLimiter, fixedWindow, type Store, slidingLog } from "sluice"
import { ioredis, type RedisClient, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { scopeOf } from "../../src/state-key.js"
import { tagOf } from "../../src/stores/redis/slot-tag.js"
import { type RedisCluster, type RedisServer, startCluster, startRedis } from "../support/redis-server.js"
import { watch } from "../support/watched-client.js"

const orgPolicy = fixedWindow({ limit: 50, window: "1h" })
const userPolicy = {
  window: fixedWindow({ limit: 10, window: "1h" }),
  exact: slidingLog({ limit: 9, window: "1h" }),
}

const limitersOn = (store: Store) => ({
  organisations: createLimiter({ name: "org", policy: orgPolicy, store }),
  users: createLimiter({ name: "user", policy: userPolicy, store }),
})

/** Twenty users, more at once than any limit: what passed for each, and what the organisation has left. */
async function storm(store: Store, each: number) {
  const { organisations, users } = limitersOn(store)
  const names = Array.from({ length: 20 }, (_, i) => `user ${i}`)
  const passed = new Map<string, number>()
  await Promise.all(
    names.flatMap((user) =>
      Array.from({ length: each }, async () => {
        const { allowed } = await combine([organisations.on("acme"), users.on(user)]).tryAcquire()
        if (allowed) passed.set(user, (passed.get(user) ?? 0) + 1)
      }),
    ),
  )
  const total = [...passed.values()].reduce((sum, count) => sum + count, 0)
  // what is spent is what was let through, in each of them
  expect((await organisations.peek("acme")).remaining).toBe(50 - total)
  for (const user of names) {
    const had = passed.get(user) ?? 0
    expect((await users.peek(user)).policies?.map(({ remaining }) => remaining)).toEqual([10 - had, 9 - had])
  }
  return { passed, total }
}

describe("on one server", () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  test("an organisation's and a user's limit are one step", async () => {
    const client = new Redis(server.port, server.host)
    const { client: watched, calls } = watch(ioredis(client))
    const store = redisStore(watched)
    const { organisations, users } = limitersOn(store)
    await combine([organisations.on("acme"), users.on("ann")]).tryAcquire()
    expect(calls).toEqual([3])
    await organisations.reset("acme")
    await users.reset("ann")
    const { passed, total } = await storm(store, 4)
    expect(total).toBe(50)
    expect(Math.max(...passed.values())).toBeLessThanOrEqual(4)
    client.disconnect()
  })
})

describe("in a Cluster", () => {
  let cluster: RedisCluster
  let client: Cluster
  beforeAll(async () => {
    cluster = await startCluster(3)
    client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })))
  })
  afterAll(async () => {
    client.disconnect()
    await cluster.stop()
  })

  const tag = (limiter: string, key: string) => tagOf({ scope: scopeOf(limiter, "default"), key })

  test("keys in different slots are spent in all or in none, whoever else asks", async () => {
    const { total } = await storm(redisStore(ioredis(client)), 4)
    // those who come in between may be denied for what is then given back
    expect(total).toBeGreaterThan(25)
    expect(total).toBeLessThanOrEqual(50)
  })

  test("a denial spends nothing, and is seen before anything is spent", async () => {
    const store = redisStore(ioredis(client))
    const { organisations, users } = limitersOn(store)
    const user = ["x", "y", "z"].find((name) => tag("user", name) !== tag("org", "umbrella")) as string
    for (let i = 0; i < 9; i += 1) await users.tryAcquire(user)
    const asked = await combine([organisations.on("umbrella"), users.on(user)]).tryAcquire()
    expect(asked).toMatchObject({ allowed: false, policy: "user:exact", retryAfter: expect.any(Number) })
    expect(asked.retryAfter).toBeGreaterThan(3_500_000)
    expect(await organisations.peek("umbrella")).toMatchObject({ remaining: 50 })
  })

  test("what was spent in one slot is given back when another fails", async () => {
    const through = ioredis(client)
    let failing = false
    const fragile: RedisClient = {
      ...through,
      runByHash: (sha, keys, args) =>
        failing && keys.some((key) => key.includes(":user:")) && args[1]?.includes("spend")
          ? Promise.reject(new Error("socket closed"))
          : through.runByHash(sha, keys, args),
    }
    const { organisations, users } = limitersOn(redisStore(fragile, { denyCache: false }))
    const user = ["p", "q", "r"].find((name) => tag("user", name) !== tag("org", "hooli")) as string
    failing = true
    await expect(combine([organisations.on("hooli"), users.on(user)]).tryAcquire()).rejects.toMatchObject({
      code: "STORE_UNKNOWN",
    })
    failing = false
    expect(await organisations.peek("hooli")).toMatchObject({ remaining: 50 })
  })
})
