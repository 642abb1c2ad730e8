import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createSentinel } from "redis"
import { createLimiter, fixedWindow, type OutagePolicy } from "sluice"
import { ioredis, nodeRedis, redisStore } from "sluice/redis"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type Connection, grantedBetween, report, type Siege } from "../support/chaos.js"
import { strict } from "../support/clients.js"
import { endure } from "../support/endure.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import {
  command,
  type RedisSentinel,
  type RedisServer,
  startRedis,
  startReplica,
  startSentinel,
} from "../support/redis-server.js"

let master: RedisServer
let replica: RedisServer
let sentinel: RedisSentinel
let proxies: [TcpProxy, TcpProxy]
beforeEach(async () => {
  master = await startRedis()
  replica = await startReplica(master)
  sentinel = await startSentinel(master)
  const first = await startProxy(master.port)
  proxies = [first, await startProxy(replica.port, first.calls)]
})
afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await Promise.all([sentinel, replica, master].map((server) => server.stop()))
})

/** Routes clients through the proxies, whatever address the sentinel announces. */
const detours = () => ({
  [`127.0.0.1:${master.port}`]: { host: "127.0.0.1", port: proxies[0].port },
  [`127.0.0.1:${replica.port}`]: { host: "127.0.0.1", port: proxies[1].port },
})

const open: Record<"ioredis" | "node-redis", (rediscovers?: number) => Promise<Connection>> = {
  async ioredis() {
    const client = new Redis({
      ...strict,
      sentinels: [{ host: sentinel.host, port: sentinel.port }],
      name: sentinel.master,
      natMap: detours(),
      lazyConnect: true,
    }).on("error", () => {})
    await client.connect()
    return { client: ioredis(client), emitter: client, close: () => client.disconnect() }
  },
  async "node-redis"(maxCommandRediscovers = 0) {
    const client = createSentinel({
      name: sentinel.master,
      sentinelRootNodes: [{ host: sentinel.host, port: sentinel.port }],
      nodeAddressMap: detours(),
      maxCommandRediscovers,
    }).on("error", () => {})
    await client.connect()
    return { client: nodeRedis(client), emitter: client, close: () => client.destroy() }
  },
}

/** Kills the master. Resolves when the sentinel has promoted the replica. */
async function failOver(): Promise<number> {
  const from = performance.now()
  await master.kill()
  for (;;) {
    // A promoted replica closes all its connections, including this one.
    const role = await command(replica.port, "ROLE").catch(() => undefined)
    const [, port] = (await command(sentinel.port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")) as string[]
    if (Array.isArray(role) && role[0] === "master" && Number(port) === replica.port)
      return performance.now() - from
    await sleep(20)
  }
}

describe("a killed master, with a sentinel that promotes its replica", () => {
  test.each<[keyof typeof open, OutagePolicy]>([
    ["ioredis", "closed"],
    ["node-redis", "throw"],
  ])("through %s, then %o", async (client, then) => {
    let killedAt = 0
    let took = 0
    const { told } = await endure({
      open: () => open[client](),
      calls: proxies[0].calls,
      fault: `Sentinel, ${client}, ${JSON.stringify(then)}`,
      then,
      strike: async () => {
        killedAt = performance.now()
        took = await failOver()
      },
      within: 10_000,
      // Grants that the replica had not received. Its lag is at most this.
      forgets: (siege: Siege) => grantedBetween(siege.ofAll, killedAt - 250, killedAt),
      keeps: false,
    })
    report(`Sentinel, ${client}: promotion`, { took })
    expect(then === "closed" ? told.degraded : told.refused + told.unknown).toBeGreaterThan(0)
  })

  test("node-redis repeats calls that may have run, unless it is configured not to look for another master", async () => {
    const { client, close } = await open["node-redis"](16)
    const limiter = createLimiter({
      name: "each",
      policy: fixedWindow({ limit: 1_000, window: "1h" }),
      store: redisStore(client),
      outage: { deadline: "20s" },
    })
    await limiter.tryAcquire("first")
    proxies[0].swallowReplies()
    const requests = Promise.allSettled(Array.from({ length: 20 }, (_, i) => limiter.tryAcquire(`k${i}`)))
    await sleep(200)
    await failOver()
    await requests
    expect(proxies[0].calls.replaysOf("each")).not.toEqual([])
    close()
  })
})
