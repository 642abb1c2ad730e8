import { setTimeout as sleep } from "node:timers/promises"
import { GlideClusterClient } from "@valkey/valkey-glide"
import { Cluster } from "ioredis"
import { createCluster } from "redis"
import { createLimiter, fixedWindow, type OutagePolicy } from "sluice"
import { glide, ioredis, nodeRedis, redisStore } from "sluice/redis"
import { policyRef } from "sluice/store"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { TAGS, tagOf } from "../../src/stores/redis/keys.js"
import { CALM, type Call, type Connection, grantedBetween, report, type Siege } from "../support/chaos.js"
import { strict } from "../support/clients.js"
import { endure } from "../support/endure.js"
import { startProxy, type TcpProxy } from "../support/proxy.js"
import {
  command,
  moveSlot,
  type RedisCluster,
  type RedisServer,
  startCluster,
} from "../support/redis-server.js"
import { ScriptCalls } from "../support/script-calls.js"

let cluster: RedisCluster
let proxies: TcpProxy[]
let calls: ScriptCalls
/** The slots of all hash tags. */
const slots = new Map<string, number>()
beforeEach(async () => {
  calls = new ScriptCalls()
  // Three masters and their replicas.
  proxies = await Promise.all(Array.from({ length: 3 + 3 }, () => startProxy(0, calls)))
  cluster = await startCluster(3, {
    replicas: true,
    // Each node announces the address of its proxy, so all traffic goes through the proxies.
    argsOf(node, port) {
      const proxy = proxies[node] as TcpProxy
      proxy.turnTo(port)
      const announced = [
        "--cluster-announce-port",
        `${proxy.port}`,
        "--cluster-announce-bus-port",
        `${port + 10_000}`,
      ]
      // Slots with a master are served even while another master is missing.
      return [...announced, "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "1000"]
    },
  })
  const { port } = cluster.nodes[0] as RedisServer
  for (let n = 0; slots.size < TAGS; n += 1) {
    const tag = tagOf({ ref: policyRef("each", "default"), key: `any-${n}` })
    if (!slots.has(tag)) slots.set(tag, Number(await command(port, "CLUSTER", "KEYSLOT", tag)))
  }
})
afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await cluster.stop()
})

const addresses = () => proxies.map(({ port }) => ({ host: "127.0.0.1", port }))

const open: Record<"ioredis" | "node-redis" | "glide", (options?: object) => Promise<Connection>> = {
  async ioredis(options = {}) {
    const client = new Cluster(addresses(), {
      redisOptions: strict,
      retryDelayOnFailover: 0,
      // A refresh in flight when the client is closed would set its timer again.
      slotsRefreshInterval: 0,
      lazyConnect: true,
      ...options,
    }).on("error", () => {})
    await client.connect()
    return { client: ioredis(client), emitter: client, close: () => client.disconnect() }
  },
  async "node-redis"() {
    const client = createCluster({
      rootNodes: addresses().map((socket) => ({ socket })),
      topologyRefreshOnReconnectionAttemptStrategy: 1_000,
    }).on("error", () => {})
    await client.connect()
    return { client: nodeRedis(client), emitter: client, close: () => client.destroy() }
  },
  async glide() {
    const client = await GlideClusterClient.createClient({ addresses: addresses(), requestTimeout: 3_000 })
    return { client: glide(client), close: () => client.close() }
  },
}

/** Different keys of one master. */
const keysOf = (master: number) => (n: number) => {
  for (let i = 0; ; i += 1) if (masterOf(slotOf("each", `back-${n}-${i}`)) === master) return `back-${n}-${i}`
}
const slotOf = (limiter: string, key: string) =>
  slots.get(tagOf({ ref: policyRef(limiter, "default"), key })) as number
const masterOf = (slot: number) => Math.floor((slot * 3) / 16_384)

/** Resolves when a replica has taken over the slots of its master, and the other masters know. */
async function promotionOf(lost: number) {
  const from = performance.now()
  const isDone = async (index: number) => {
    const { port } = cluster.nodes[index] as RedisServer
    const nodes = String(await command(port, "CLUSTER", "NODES"))
    return new RegExp(`:${proxies[lost + 3]?.port}@.*master.* connected .*-`).test(nodes)
  }
  const others = [0, 1, 2, lost + 3].filter((index) => index !== lost)
  for (;;) {
    const done = await Promise.all(others.map(isDone))
    if (done.every(Boolean)) return performance.now() - from
    await sleep(20)
  }
}

describe("a killed master of a Cluster", () => {
  test.each<[keyof typeof open, OutagePolicy]>([
    ["ioredis", "throw"],
    ["node-redis", "closed"],
    ["glide", "throw"],
  ])(
    "through %s, then %o: other masters are not affected, and its callers recover after the promotion",
    async (client, then) => {
      // The master of the shared key.
      const lost = masterOf(slotOf("all", "k"))
      let killedAt = 0
      let took = 0
      const { siege } = await endure({
        open: async () => {
          const connection = await open[client]()
          const close = () => {
            connection.close()
            // After the loss of a master, glide keeps old connections and makes new ones, even without this library.
            if (client === "glide") for (const proxy of proxies) void proxy.close()
          }
          return { ...connection, close }
        },
        calls,
        fault: `Cluster master, ${client}, ${JSON.stringify(then)}`,
        then,
        deadline: CALM,
        strike: async () => {
          killedAt = performance.now()
          await cluster.nodes[lost]?.kill()
          took = await promotionOf(lost)
        },
        within: 10_000,
        lostKey: keysOf(lost),
        forgets: (siege: Siege) => grantedBetween(siege.ofAll, killedAt - 250, killedAt),
        keeps: false,
      })
      const masters = siege.ofEach.map(({ key }) => masterOf(slotOf("each", key)))
      const outcomes = (calls: readonly Call[]) => {
        const count: Record<string, number> = {}
        for (const { outcome, degraded } of calls) {
          const name = degraded ? `${outcome} without` : outcome
          count[name] = (count[name] ?? 0) + 1
        }
        return count
      }
      const ofOthers = outcomes(siege.ofEach.filter((_, i) => masters[i] !== lost))
      const ofLost = outcomes(siege.ofEach.filter((_, i) => masters[i] === lost))
      report(`Cluster master, ${client}: promotion`, { took, ofOthers, ofLost })
      expect(Object.keys(ofOthers)).toEqual(["allowed"])
      expect(Object.keys(ofLost).length).toBeGreaterThan(1)
    },
  )

  test("ioredis repeats calls that may have run, unless retryDelayOnFailover is 0", async () => {
    const { client, close } = await open.ioredis({ retryDelayOnFailover: 100 })
    const limiter = createLimiter({
      name: "each",
      policy: fixedWindow({ limit: 1_000, window: "1h" }),
      store: redisStore(client),
      outage: { deadline: "20s" },
    })
    const keys = Array.from({ length: 20 }, (_, n) => keysOf(0)(n))
    await limiter.tryAcquire(keysOf(0)(100))
    proxies[0]?.swallowReplies()
    const requests = Promise.allSettled(keys.map((key) => limiter.tryAcquire(key)))
    await sleep(200)
    await cluster.nodes[0]?.kill()
    await requests
    expect(calls.replaysOf("each")).toHaveLength(20)
    close()
  })
})

describe("a slot that moves from master to master and back under load", () => {
  const move = (slot: number, from: number, to: number) =>
    moveSlot(slot, cluster.nodes[from] as RedisServer, cluster.nodes[to] as RedisServer)

  test.each<keyof typeof open>(["ioredis", "node-redis", "glide"])(
    "is followed without a lost or denied request, through %s",
    async (client) => {
      const slot = slotOf("all", "k")
      const home = masterOf(slot)
      const away = (home + 1) % 3
      const { told } = await endure({
        open: () => open[client](),
        calls,
        fault: `slot, ${client}`,
        then: "throw",
        deadline: CALM,
        strike: async () => {
          for (let i = 0; i < 3; i += 1) {
            await move(slot, home, away)
            await sleep(100)
            await move(slot, away, home)
            await sleep(100)
          }
        },
        within: 2_000,
        lostKey: keysOf(home),
      })
      expect(calls.refusals.MOVED).toBeGreaterThan(0)
      expect(told.refused + told.unknown).toBe(0)
    },
  )
})
