import { setTimeout as sleep } from "node:timers/promises"
import type { OutagePolicy } from "sluice"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { CALM, clients, shared } from "../support/chaos.js"
import { endure } from "../support/endure.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"

// Errors of a server instead of running a call. Nothing is spent by such a call.
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

const rig = (client: ClientName) => ({ open: () => clients[client](proxy.port), calls: proxy.calls })

describe("scripts and functions flushed every few milliseconds", () => {
  test.each<ClientName>(["ioredis", "node-redis", "glide"])(
    "are loaded again without an error for callers, through %s",
    async (client) => {
      const { told, spent } = await endure({
        ...rig(client),
        fault: `SCRIPT FLUSH and FUNCTION FLUSH, ${client}`,
        then: "throw",
        deadline: CALM,
        strike: async () => {
          const until = performance.now() + 1_200
          while (performance.now() < until) {
            await command(server.port, "SCRIPT", "FLUSH")
            await command(server.port, "FUNCTION", "FLUSH")
            await sleep(3)
          }
        },
        within: 2_000,
      })
      expect(told.refused + told.unknown).toBe(0)
      const { NOSCRIPT = 0, ERR = 0 } = proxy.calls.refusals
      expect(NOSCRIPT + ERR).toBeGreaterThan(20)
      expect(spent.most).toBe(1)
    },
  )
})

describe("a server busy with a script", () => {
  /** Runs an endless script, and kills it after that time. */
  const busyFor = async (ms: number) => {
    await command(server.port, "CONFIG", "SET", "busy-reply-threshold", 50)
    const endless = command(server.port, "EVAL", "while true do end", 0).catch(() => {})
    await sleep(ms)
    await command(server.port, "SCRIPT", "KILL")
    await endless
  }

  test.each<[ClientName, OutagePolicy]>([
    ["ioredis", "closed"],
    ["node-redis", "throw"],
    ["glide", "closed"],
  ])("for longer than the deadline, through %s, then %o", async (client, then) => {
    const { told, spent, siege } = await endure({
      ...rig(client),
      fault: `BUSY for 1.2 s, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: () => busyFor(1_200),
      within: 3_000,
    })
    expect(proxy.calls.refusals.BUSY).toBeGreaterThan(0)
    expect(then === "throw" ? told.unknown + told.refused : told.degraded).toBeGreaterThan(0)
    expect(siege.changes[0]).toMatchObject({ reachable: false })
    expect(spent.most).toBe(1)
  })

  test.each<ClientName>(["ioredis", "node-redis", "glide"])(
    "for less than the deadline causes no error, through %s",
    async (client) => {
      const { told } = await endure({
        ...rig(client),
        fault: `BUSY for 200 ms, ${client}`,
        then: "throw",
        deadline: CALM,
        retryFor: "1s",
        strike: () => busyFor(200),
        within: 2_000,
      })
      expect(proxy.calls.refusals.BUSY).toBeGreaterThan(0)
      expect(told.refused + told.unknown).toBe(0)
    },
  )
})

describe("a server with full memory and no eviction", () => {
  test.each<[ClientName, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", { local: 0.5 }],
    ["glide", "throw"],
  ])("rejects requests that would spend, through %s, then %o", async (client, then) => {
    let before = 0
    let after = 0
    const { told } = await endure({
      ...rig(client),
      fault: `maxmemory, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        await command(server.port, "CONFIG", "SET", "maxmemory", 1)
        await sleep(100)
        before = Number(await command(server.port, "DBSIZE"))
        await sleep(1_000)
        after = Number(await command(server.port, "DBSIZE"))
        await command(server.port, "CONFIG", "SET", "maxmemory", 0)
      },
      within: 4_000,
    })
    expect(proxy.calls.refusals.OOM).toBeGreaterThan(0)
    // Nothing is written while memory is full.
    expect(after).toBeLessThanOrEqual(before)
    expect(told.unknown).toBe(0)
    expect(then === "throw" ? told.refused : told.degraded).toBeGreaterThan(0)
  })

  test("a server that evicts keys forgets spent units and rejects nothing", async () => {
    await command(server.port, "CONFIG", "SET", "maxmemory-policy", "allkeys-random")
    let evictions = 0
    const figure = async (section: string, name: string) =>
      Number(new RegExp(`${name}:(\\d+)`).exec(String(await command(server.port, "INFO", section)))?.[1])
    const { told } = await endure({
      ...rig("ioredis"),
      fault: "maxmemory with eviction, ioredis",
      then: "throw",
      deadline: CALM,
      strike: async () => {
        const used = await figure("memory", "used_memory")
        await command(server.port, "CONFIG", "SET", "maxmemory", used + 30_000)
        await sleep(1_000)
        await command(server.port, "CONFIG", "SET", "maxmemory", 0)
        evictions = await figure("stats", "evicted_keys")
      },
      within: 2_000,
      keeps: false,
      forgets: () => evictions * shared.capacity,
    })
    expect(evictions).toBeGreaterThan(0)
    expect(told.refused + told.unknown).toBe(0)
  })
})
