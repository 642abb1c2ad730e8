import { Redis } from "ioredis"
import { ioredis } from "sluice/redis"
import { type RedissonRateLimiterOptions, redissonRateLimiter } from "sluice/redisson"
import { type ManualClock, manualClock } from "sluice/testing"
import { afterAll, beforeAll, onTestFinished } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { java, keysOf, type Layout, onClock } from "../support/redisson.js"

let names = 0

/** A private server for the tests of one file, and limiters with unique names on it. */
export function useRig() {
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

  return {
    get client() {
      return client
    },
    get server() {
      return server
    },
    /** Our limiter and Java's on the same keys. They use the test's clock if one is given, otherwise the server's. */
    async limiter(
      rate: number,
      interval: number,
      { clock, layout = "Bc0I", keepAlive = 0, type = "OVERALL", ...options }: Setup = {},
    ) {
      names += 1
      const name = `limiter-${names}`
      const clientId = "typescript"
      const through = clock === undefined ? ioredis(client) : onClock(client, clock)
      const ours = redissonRateLimiter(through, name, { clientId, layout, ...options })
      onTestFinished(() => ours.close())
      if (rate > 0) await ours.trySetRate(type, rate, interval, keepAlive)
      const [, value, ownValue, permits, ownPermits] = keysOf(name, clientId) as [
        string,
        string,
        string,
        string,
        string,
      ]
      const theirs = java(client, name, clock ?? Date.now, layout)
      return { name, ours, theirs, keys: { value, ownValue, permits, ownPermits } }
    },
    clock: () => manualClock(10_000),
    /** The whole state, with its expiries. */
    async everything() {
      const keys = (await client.keys("*")).sort()
      const states = keys.map(async (key) => {
        const dump = await client.dumpBuffer(key)
        return `${key} ${dump?.toString("hex")} ${await client.pexpiretime(key)}`
      })
      return Promise.all(states)
    },
  }
}

interface Setup extends Omit<RedissonRateLimiterOptions, "layout"> {
  clock?: ManualClock
  layout?: Layout
  type?: "OVERALL" | "PER_CLIENT"
  keepAlive?: number
}
