import { setTimeout as sleep } from "node:timers/promises"
import type { OutagePolicy } from "sluice"
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

/** How long nobody answers. */
const OUTAGE = 1_500

describe("a server that is killed and started again, empty", () => {
  test.each<[keyof typeof clients, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", { local: 0.5 }],
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
      // a bucket that is full again
      forgets: () => shared.capacity,
      keeps: false,
    })
    expect(siege.changes.map(({ reachable }) => reachable).slice(0, 1)).toEqual([false])
    if (then === "throw") expect(told.refused + told.unknown).toBeGreaterThan(0)
    else expect(told.degraded).toBeGreaterThan(0)
  })
})

describe("a server that is stopped and goes on", () => {
  test.each<[keyof typeof clients, OutagePolicy]>([
    ["ioredis", "closed"],
    ["node-redis", "open"],
    ["node-redis", "throw"],
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
      answersLate: true,
    })
    if (then === "throw") expect(told.unknown).toBeGreaterThan(0)
    else expect(told.degraded).toBeGreaterThan(0)
  })
})

describe("a server that holds every client back", () => {
  test.each<[keyof typeof clients, OutagePolicy]>([
    ["ioredis", { local: 0.25 }],
    ["node-redis", "closed"],
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
      answersLate: true,
    })
  })
})
