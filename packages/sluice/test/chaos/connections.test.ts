import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createClient } from "redis"
import { createLimiter, fixedWindow, type OutagePolicy } from "sluice"
import { ioredis, nodeRedis, redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { clients } from "../support/chaos.js"
import { strict } from "../support/clients.js"
import { endure } from "../support/endure.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let proxy: TcpProxy
beforeEach(async () => {
  server = await startRedis()
  proxy = await startProxy(server.port)
})
afterEach(async () => {
  await proxy.close()
  await server.stop()
})

type ClientName = keyof typeof clients

describe("connections reset in the middle of a reply, ten times", () => {
  test.each<[ClientName, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", "closed"],
    ["glide", "throw"],
  ])("through %s, then %o", async (client, then) => {
    const { told } = await endure({
      open: () => clients[client](proxy.port),
      calls: proxy.calls,
      fault: `reset, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        for (let i = 0; i < 10; i += 1) {
          proxy.resetMidReply()
          await sleep(150)
        }
      },
      within: 5_000,
    })
    expect(then === "throw" ? told.unknown : told.degraded).toBeGreaterThan(0)
  })
})

describe("a dead connection, while new ones work", () => {
  const giveUpAfter = 1_000
  const open: Pick<typeof clients, "ioredis" | "node-redis"> = {
    // Only the client can drop an old connection, and only if it has a timeout.
    async ioredis(port) {
      const client = new Redis(port, "127.0.0.1", {
        ...strict,
        lazyConnect: true,
        socketTimeout: giveUpAfter,
      })
      await client.on("error", () => {}).connect()
      return { client: ioredis(client), emitter: client, close: () => client.disconnect() }
    },
    async "node-redis"(port) {
      const reconnectStrategy = (retries: number) => Math.min(50 * 2 ** retries, 2_000)
      const client = createClient({
        socket: { port, host: "127.0.0.1", socketTimeout: giveUpAfter, reconnectStrategy },
      })
      await client.on("error", () => {}).connect()
      return { client: nodeRedis(client), emitter: client, close: () => client.destroy() }
    },
  }

  test.each<[keyof typeof open, OutagePolicy]>([
    ["ioredis", "open"],
    ["node-redis", { local: 0.5 }],
  ])("through %s with a socket timeout, then %o", async (client, then) => {
    const { told } = await endure({
      open: () => open[client](proxy.port),
      calls: proxy.calls,
      fault: `black hole, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: () => {
        proxy.swallowOldConnections()
        return sleep(100)
      },
      within: giveUpAfter + 4_000,
    })
    expect(told.degraded).toBeGreaterThan(0)
  })

  test("through valkey-glide, which has no such timeout, it stays in use until it breaks, then 'throw'", async () => {
    const { told } = await endure({
      open: () => clients.glide(proxy.port),
      calls: proxy.calls,
      fault: 'black hole, glide, "throw"',
      then: "throw",
      strike: async ({ ofEach }) => {
        proxy.swallowOldConnections()
        const from = performance.now()
        await sleep(2_000)
        expect(ofEach.filter(({ startedAt, outcome }) => startedAt > from && outcome === "allowed")).toEqual(
          [],
        )
        proxy.cut()
      },
      within: 3_000,
    })
    expect(told.unknown).toBeGreaterThan(0)
  })
})

describe("a network that stalls and recovers", () => {
  test.each<[ClientName, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", "throw"],
    ["glide", "closed"],
  ])("through %s, then %o", async (client, then) => {
    const { told } = await endure({
      open: () => clients[client](proxy.port),
      calls: proxy.calls,
      fault: `stall, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        proxy.hold()
        await sleep(1_500)
        proxy.letGo()
      },
      within: 3_000,
      answersLate: client !== "glide",
    })
    expect(then === "throw" ? told.unknown : told.degraded).toBeGreaterThan(0)
  })
})

test("the test detects a client that repeats calls that may have run: ioredis with its defaults", async () => {
  const client = new Redis(proxy.port, "127.0.0.1").on("error", () => {})
  const limiter = createLimiter({
    name: "each",
    policy: fixedWindow({ limit: 1_000, window: "1h" }),
    store: redisStore(ioredis(client)),
    outage: { deadline: "5s" },
  })
  await limiter.tryAcquire("first")
  proxy.swallowReplies()
  const requests = Array.from({ length: 50 }, (_, i) => limiter.tryAcquire(`k${i}`))
  await sleep(200)
  proxy.cut()
  await Promise.all(requests)
  expect(proxy.calls.replaysOf("each")).toHaveLength(50)
  expect(await limiter.peek("k0")).toMatchObject({ remaining: 998 })
  client.disconnect()
})
