import { setTimeout as sleep } from "node:timers/promises"
import { createLimiter, type OutagePolicy, tokenBucket } from "sluice"
import { redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { clients, shared } from "../support/chaos.js"
import { endure } from "../support/endure.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"

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

const rig = (client: keyof typeof clients) => ({
  open: () => clients[client](proxy.port),
  calls: proxy.calls,
})

/** How long the server does not reply. */
const OUTAGE = 1_500

describe("a server that is killed and restarted empty", () => {
  test.each<[keyof typeof clients, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", { local: 0.5 }],
    ["glide", "throw"],
  ])("through %s, then %o", async (client, then) => {
    const { siege, told } = await endure({
      ...rig(client),
      fault: `SIGKILL, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        await server.kill()
        await sleep(OUTAGE)
        await server.restart()
      },
      within: 5_000,
      // The bucket of the empty server is full.
      forgets: () => shared.capacity,
      keeps: false,
    })
    expect(siege.changes.map(({ reachable }) => reachable).slice(0, 1)).toEqual([false])
    if (then === "throw") expect(told.refused + told.unknown).toBeGreaterThan(0)
    else expect(told.degraded).toBeGreaterThan(0)
  })
})

describe("a server that is stopped and continued", () => {
  test.each<[keyof typeof clients, OutagePolicy]>([
    ["ioredis", "closed"],
    ["node-redis", "open"],
    ["node-redis", "throw"],
    ["glide", "closed"],
  ])("through %s, then %o", async (client, then) => {
    const { told } = await endure({
      ...rig(client),
      fault: `SIGSTOP, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        process.kill(server.pid, "SIGSTOP")
        await sleep(OUTAGE)
        process.kill(server.pid, "SIGCONT")
      },
      within: 3_000,
      // valkey-glide drops replies that come after its own timeout.
      answersLate: client !== "glide",
    })
    if (then === "throw") expect(told.unknown).toBeGreaterThan(0)
    else expect(told.degraded).toBeGreaterThan(0)
  })
})

describe("a server that is killed or stopped while units are leased", () => {
  test.each<[keyof typeof clients, "SIGKILL" | "SIGSTOP"]>([
    ["ioredis", "SIGKILL"],
    ["node-redis", "SIGSTOP"],
  ])("admits exactly the leased units, through %s, by %s", async (client, signal) => {
    await endure({
      ...rig(client),
      fault: `lease, ${signal}, ${client}`,
      then: "closed",
      lease: true,
      strike: async () => {
        if (signal === "SIGKILL") await server.kill()
        else process.kill(server.pid, signal)
        await sleep(OUTAGE)
        if (signal === "SIGKILL") await server.restart()
        else process.kill(server.pid, "SIGCONT")
      },
      within: 5_000,
      // A lease lasts for 100 ms from its debit.
      forgets: () => shared.refill / 10 + (signal === "SIGKILL" ? shared.capacity : 0),
      keeps: signal === "SIGSTOP",
    })
  })

  test("a limiter with leases closes in time", async () => {
    const { client, close } = await clients.ioredis(proxy.port)
    const limiter = createLimiter({
      name: "leased",
      policy: tokenBucket({ capacity: 1_000, refill: 1_000, every: "1s" }),
      store: redisStore(client),
      lease: true,
    })
    while ((await limiter.tryAcquire("k")).source !== "lease");
    process.kill(server.pid, "SIGSTOP")
    const waits = Array.from({ length: 200 }, () => limiter.acquire("other").catch((error) => error.code))
    const startedAt = performance.now()
    await limiter.close()
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    expect(new Set(await Promise.all(waits))).toEqual(new Set(["CLOSED"]))
    process.kill(server.pid, "SIGCONT")
    close()
  })
})

describe("a server that pauses every client", () => {
  test.each<[keyof typeof clients, OutagePolicy]>([
    ["ioredis", { local: 0.25 }],
    ["node-redis", "closed"],
    ["glide", "throw"],
  ])("through %s, then %o", async (client, then) => {
    await endure({
      ...rig(client),
      fault: `CLIENT PAUSE, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        await command(server.port, "CLIENT", "PAUSE", OUTAGE, "ALL")
        await sleep(OUTAGE)
      },
      within: 3_000,
      answersLate: client !== "glide",
    })
  })
})
