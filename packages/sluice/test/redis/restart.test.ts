import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createClient } from "redis"
import { createLimiter, fixedWindow, type Limiter, SluiceError } from "sluice"
import { ioredis, nodeRedis, type RedisClient, redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { clientKinds, strict } from "../support/clients.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"

const LIMIT = 1_000_000
let server: RedisServer
let dir: string

// The server writes to disk before it replies, so that grants survive the restart.
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-restart-"))
  server = await startRedis({ dir, args: ["--appendonly", "yes", "--appendfsync", "always"] })
})
afterEach(async () => {
  await server.stop()
  await rm(dir, { recursive: true, force: true })
})

/** Keeps 50 callers busy while the server is killed and restarted. Returns the outcomes of their requests. */
async function throughRestarts(
  limiter: Limiter,
): Promise<{ allowed: number; unknown: number; refused: number }> {
  const count = { allowed: 0, unknown: 0, refused: 0 }
  let over = false
  const caller = async () => {
    while (!over) {
      try {
        if ((await limiter.tryAcquire("k")).allowed) count.allowed += 1
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error
        if (error.code === "STORE_UNKNOWN") count.unknown += 1
        else count.refused += 1
      }
    }
  }
  const callers = Array.from({ length: 50 }, caller)
  for (let i = 0; i < 3; i += 1) {
    await sleep(300)
    await server.restart()
  }
  await sleep(500)
  over = true
  await Promise.all(callers)
  return count
}

async function survives(client: RedisClient, delivery: "function" | "script" = "function") {
  const store = unguarded(redisStore(client, { retryFor: "10s", delivery }))
  const limiter = createLimiter({ policy: fixedWindow({ limit: LIMIT, window: "1h" }), store })
  const { allowed, unknown, refused } = await throughRestarts(limiter)
  const spent = LIMIT - (await limiter.peek("k")).remaining
  expect(refused).toBe(0)
  expect(allowed).toBeGreaterThan(0)
  expect(spent).toBeGreaterThanOrEqual(allowed)
  // A single request sent twice shows here.
  expect(spent).toBeLessThanOrEqual(allowed + unknown)
}

describe("a restart of Redis loses no call that could be retried and replays none that may have run", () => {
  test.each(clientKinds)("through $name with the settings in the docs", async (kind) => {
    const { client, close } = await kind.single(server.port)
    await survives(client)
    await close()
  })

  const newest = clientKinds.filter(({ name }) => /^(ioredis 6|node-redis 6|valkey-glide 2)$/.test(name))
  test.each(newest)("through $name, by script", async (kind) => {
    const { client, close } = await kind.single(server.port)
    await survives(client, "script")
    await close()
  })

  test("through node-redis with its offline queue", async () => {
    const client = await createClient({ url: server.url })
      .on("error", () => {})
      .connect()
    await survives(nodeRedis(client))
    client.destroy()
  })
})

test("a call without a server during its retries rejects with STORE_REFUSED", async () => {
  const client = new Redis(server.port, server.host, strict).on("error", () => {})
  const limiter = createLimiter({
    policy: fixedWindow({ limit: 5, window: "1m" }),
    store: unguarded(redisStore(ioredis(client), { retryFor: 50 })),
  })
  await server.kill()
  await sleep(50)
  await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
  client.disconnect()
})
