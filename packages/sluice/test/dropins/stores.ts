import type { Server } from "node:http"
import { Redis } from "ioredis"
import { memoryStore, type Store } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe } from "vitest"
import { type Running, running } from "../middleware/adapter.js"
import { strict } from "../support/clients.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let prefixes = 0

/** A prefix that no other test uses. */
export function newPrefix(): string {
  prefixes += 1
  return `test-${prefixes}`
}

/** Runs the same tests on a memory store and on a private Redis server. */
export function onEachStore(tests: (store: () => Store) => void): void {
  describe("on memory", () => {
    const store = memoryStore()
    tests(() => store)
  })

  describe("on Redis", () => {
    let server: RedisServer
    let client: Redis
    let store: Store
    beforeAll(async () => {
      server = await startRedis()
      client = new Redis({ ...strict, host: "127.0.0.1", port: server.port, lazyConnect: true })
      client.on("error", () => {})
      await client.connect()
      store = redisStore(ioredis(client))
    })
    afterAll(async () => {
      client.disconnect()
      await server.stop()
    })
    tests(() => store)
  })
}

/** A server that keeps idle connections. Under load it would else close one that the client is about to use again. */
export function listening(server: Server): Promise<Running> {
  server.keepAliveTimeout = 120_000
  return running(server)
}

/** Sends requests one after another and returns their statuses. */
export async function statuses(count: number, send: () => Promise<{ status: number }>): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < count; i += 1) all.push((await send()).status)
  return all
}

/** Sends requests all at once and counts their statuses. */
export async function flood(
  count: number,
  send: () => Promise<{ status: number }>,
): Promise<Record<number, number>> {
  const found: Record<number, number> = {}
  const responses = await Promise.all(Array.from({ length: count }, send))
  for (const { status } of responses) found[status] = (found[status] ?? 0) + 1
  return found
}
