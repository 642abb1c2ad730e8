import { Cluster, Redis } from "ioredis"
import { combine, createLimiter, fixedWindow, type Store, slidingLog } from "sluice"
import { ioredis, library, type RedisClient, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { policyRef } from "../../src/state-key.js"
import { tagOf } from "../../src/stores/redis/keys.js"
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

/** Sends more concurrent requests of twenty users than any limit. Checks what passed and what is left. */
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
  // Every limiter has spent exactly what passed.
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

  test("limits of an organisation and a user are decided in one atomic step", async () => {
    const client = new Redis(server.port, server.host)
    const { client: watched, calls } = watch(ioredis(client))
    const store = redisStore(watched)
    const { organisations, users } = limitersOn(store)
    await client.call("FUNCTION", "LOAD", library.text)
    await combine([organisations.on("acme"), users.on("ann")]).tryAcquire()
    expect(calls).toEqual([3])
    const waited = await combine([organisations.on("acme"), users.on("ann")]).acquire()
    expect(waited).toMatchObject({ allowed: true, policy: "user:exact", remaining: 7 })
    const { decision, settle } = await combine([organisations.on("acme"), users.on("ann")]).reserve()
    expect(decision).toMatchObject({ allowed: true, remaining: 6 })
    expect(await settle({ "org:default": 0, "user:exact": 3 })).toBe(true)
    expect(await organisations.peek("acme")).toMatchObject({ remaining: 48 })
    expect((await users.peek("ann")).policies?.map(({ remaining }) => remaining)).toEqual([7, 4])
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

  const tag = (limiter: string, key: string) => tagOf({ ref: policyRef(limiter, "default"), key })

  test("keys in different slots are spent all or nothing under concurrent requests", async () => {
    const { total } = await storm(redisStore(ioredis(client)), 4)
    // Concurrent requests may be denied because of units that are given back later.
    expect(total).toBeGreaterThan(25)
    expect(total).toBeLessThanOrEqual(50)
  })

  test("a denial is detected before anything is spent", async () => {
    const store = redisStore(ioredis(client))
    const { organisations, users } = limitersOn(store)
    const user = ["x", "y", "z"].find((name) => tag("user", name) !== tag("org", "umbrella")) as string
    for (let i = 0; i < 9; i += 1) await users.tryAcquire(user)
    const asked = await combine([organisations.on("umbrella"), users.on(user)]).tryAcquire()
    expect(asked).toMatchObject({ allowed: false, policy: "user:exact", retryAfter: expect.any(Number) })
    expect(asked.retryAfter).toBeGreaterThan(3_500_000)
    expect(await organisations.peek("umbrella")).toMatchObject({ remaining: 50 })
  })

  test("keys in different slots can be reserved, settled and charged, but not waited for", async () => {
    const { organisations, users } = limitersOn(redisStore(ioredis(client)))
    const user = ["f", "g", "h"].find((name) => tag("user", name) !== tag("org", "initech")) as string
    const both = combine([organisations.on("initech", { cost: 5 }), users.on(user)])
    const reservation = await both.reserve()
    expect(reservation.decision).toMatchObject({ allowed: true })
    expect(await organisations.peek("initech")).toMatchObject({ remaining: 45 })
    expect(await reservation.settle({ "org:default": 2, "user:exact": 3 })).toBe(true)
    expect(await reservation.cancel()).toBe(false)
    await both.charge({ "org:default": 8 })
    expect(await organisations.peek("initech")).toMatchObject({ remaining: 40 })
    expect((await users.peek(user)).policies?.map(({ remaining }) => remaining)).toEqual([9, 6])
    await expect(both.acquire()).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("different slots"),
    })
  })

  test("units spent in one slot are given back when another slot fails", async () => {
    const through = ioredis(client)
    let failing = false
    const fragile: RedisClient = {
      ...through,
      run: (...call) =>
        failing &&
        call[2].some((key) => key.includes("}user:")) &&
        call[3].some((arg) => arg.includes("spend"))
          ? Promise.reject(new Error("socket closed"))
          : through.run(...call),
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
