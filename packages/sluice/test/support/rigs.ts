import { Redis } from "ioredis"
import { memoryStore, type Store } from "sluice"
import { ioredis, type RedisClient, type RedisStoreOptions, redisStore } from "sluice/redis"
import { manualClock, type Rig } from "sluice/testing"
import { denyCache } from "../../src/layers/deny-cache.js"
import { leases } from "../../src/layers/lease.js"
import type { ClientKind } from "./clients.js"
import type { RedisServer } from "./redis-server.js"

/** Sets up rigs one after the other, each fresh and empty. */
export interface Workshop {
  rig(): Promise<Rig>
  close(): Promise<void>
}

export function memoryWorkshop(): Workshop {
  return {
    async rig() {
      const clock = manualClock()
      return { clock, stores: [memoryStore({ clock })] }
    },
    async close() {},
  }
}

/** How a limiter reaches the store in Redis: with a deny cache by default, without it, or through leases. */
export type Way = "cached" | "exact" | "leased"

export interface Reach extends Pick<RedisStoreOptions, "delivery"> {
  readonly way?: Way
  /** The user of the clients. */
  readonly user?: { readonly username: string; readonly password: string }
}

export async function ioredisWorkshop(server: RedisServer, reach: Reach = {}): Promise<Workshop> {
  const options = { ...reach.user, enableReadyCheck: false }
  const clients = Array.from({ length: 4 }, () => new Redis(server.port, server.host, options))
  return redisWorkshop(
    server,
    clients.map(ioredis),
    async () => {
      for (const client of clients) client.disconnect()
    },
    reach,
  )
}

export async function clientWorkshop(server: RedisServer, kind: ClientKind): Promise<Workshop> {
  const connected = await Promise.all(Array.from({ length: 4 }, () => kind.single(server.port)))
  return redisWorkshop(
    server,
    connected.map(({ client }) => client),
    async () => {
      for (const { close } of connected) await close()
    },
  )
}

export async function redisWorkshop(
  server: RedisServer,
  clients: readonly RedisClient[],
  disconnect: () => Promise<void>,
  { way = "cached", delivery }: Reach = {},
): Promise<Workshop> {
  const inspector = new Redis(server.port, server.host)
  const everyKey = async () => (await inspector.keys("*")).sort()
  return {
    async rig() {
      await inspector.flushall()
      const clock = manualClock()
      const stores = clients.map((client) => {
        const store = redisStore(client, { clock, denyCache: way !== "exact", delivery })
        return way === "leased" ? leases(denyCache(store), { time: 100, share: 0.1 }) : store
      }) as [Store, ...Store[]]
      return {
        clock,
        stores,
        async snapshot() {
          const entries = (await everyKey()).map(async (key) => {
            const value = await inspector.dumpBuffer(key)
            return [key, `${value?.toString("hex")} ${await inspector.pexpiretime(key)}`] as const
          })
          return new Map(await Promise.all(entries))
        },
        async expiry() {
          const entries = (await everyKey()).map(async (key) => [key, await inspector.pttl(key)] as const)
          return { left: new Map(await Promise.all(entries)), slack: 60_000 }
        },
      }
    },
    async close() {
      await disconnect()
      inspector.disconnect()
    },
  }
}
