import { type RedisReply, RedisStore } from "rate-limit-redis"
import type { Connecting, ConnectOptions } from "../redis.js"
import { plenty, type Subject, serial } from "../subject.js"

/** The store of express-rate-limit by itself: the middleware compares `totalHits` with the limit, so do we. */
export async function rateLimitRedis(on: Connecting, limit = plenty, windowMs = 10_000): Promise<Subject> {
  return rateLimitRedisStack(on, [windowMs], limit)
}

/** Several stores, as several middlewares in a row would use them, but all called at once. */
export async function rateLimitRedisStack(
  on: Connecting,
  windows: readonly number[],
  limit = plenty,
  { name = "rate-limit-redis", connect }: { name?: string; connect?: ConnectOptions } = {},
): Promise<Subject> {
  const client = await on.connect(connect)
  const stores = await Promise.all(
    windows.map(async (windowMs) => {
      const store = new RedisStore({
        sendCommand: (name: string, ...args: string[]) => client.call(name, ...args) as Promise<RedisReply>,
        prefix: `rlr${serial()}:`,
      })
      await store.init({ windowMs } as Parameters<RedisStore["init"]>[0])
      return store
    }),
  )
  const [only] = stores as [RedisStore]
  return {
    name,
    decide:
      stores.length === 1
        ? (key) => only.increment(key)
        : (key) => Promise.all(stores.map((store) => store.increment(key))),
    passed: (reply) => {
      if (reply instanceof Error) throw reply
      const hits = [reply].flat() as { totalHits: number }[]
      return hits.every(({ totalHits }) => totalHits <= limit)
    },
    async close() {
      client.disconnect()
    },
  }
}
