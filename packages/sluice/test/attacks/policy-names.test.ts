import { Redis } from "ioredis"
import { combine, createLimiter, fixedWindow, memoryStore, type Policy, type Store } from "sluice"
import { ioredis, ioredisSettings, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ ...ioredisSettings, host: server.host, port: server.port, enableOfflineQueue: true })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const policy = fixedWindow({ limit: 1_000_000, window: "1h" })
const named = (count: number, from = 0): Record<string, Policy> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`name ${from + i}`, policy]))

const stores: [name: string, make: () => Store][] = [
  ["memory", () => memoryStore()],
  ["Redis", () => redisStore(ioredis(client))],
]

describe.each(stores)("names of policies that are made up (%s)", (_, make) => {
  test("are refused from the 65th on, and known names still count", async () => {
    const limiter = createLimiter({ name: "made up", policy: named(1), store: make() })
    for (let i = 0; i < 64; i += 1) await limiter.tryAcquire("k", { policy: named(1, i) })
    const refused = limiter.tryAcquire("k", { policy: named(1, 64) })
    await expect(refused).rejects.toMatchObject({ code: "INVALID_POLICY" })
    await expect(refused).rejects.toThrow(
      'limiter "made up" has used 64 policy names, so "name 64" is refused; names must not come from user input',
    )
    expect(await limiter.tryAcquire("k", { policy: named(1, 63) })).toMatchObject({ remaining: 999_998 })
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true })
    await limiter.close()
  })

  test("are refused in a record of more than 64", async () => {
    expect(() => createLimiter({ policy: named(65), store: make() })).toThrow("1 to 64 policies")
  })
})

test("a request over many names costs Redis time in proportion to their number", async () => {
  const store = redisStore(ioredis(client))
  const limiters = Array.from({ length: 16 }, (_, i) =>
    createLimiter({ name: `l${i}`, policy: named(64), store }),
  )
  const microsecondsOf = async (names: number) => {
    const claims = limiters.map((limiter, i) => limiter.on(`${names} ${i}`)).slice(0, names / 64)
    const all = combine(claims)
    await all.tryAcquire()
    const spent: number[] = []
    for (let i = 0; i < 5; i += 1) {
      await client.config("RESETSTAT")
      expect((await all.tryAcquire()).allowed).toBe(true)
      const stats = await client.info("commandstats")
      spent.push(Number(/cmdstat_(?:fcall|evalsha):calls=\d+,usec=(\d+)/.exec(stats)?.[1]))
    }
    return Math.min(...spent)
  }
  const few = await microsecondsOf(64)
  const many = await microsecondsOf(1_024)
  expect(many).toBeLessThan(16 * few * 2.5)
})
