import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createClient } from "redis"
import { createLimiter, fixedWindow, type Store, slidingLog, tokenBucket } from "sluice"
import { ioredis, library, nodeRedis, type RedisStoreOptions, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { clients } from "../support/chaos.js"
import { clientKinds } from "../support/clients.js"
import { startProxy } from "../support/proxy.js"
import {
  command,
  inStep,
  moveSlot,
  type RedisServer,
  startCluster,
  startRedis,
  startReplica,
} from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"

let server: RedisServer
let admin: Redis
const policy = {
  burst: tokenBucket({ capacity: 50, refill: 1, every: "1s" }),
  all: slidingLog({ limit: 20, window: "1m" }),
}
const clock = manualClock()

beforeAll(async () => {
  server = await startRedis()
  admin = new Redis(server.port, server.host)
})
beforeEach(async () => {
  await admin.flushall()
  await flushCode()
  await admin.config("RESETSTAT")
})
afterAll(async () => {
  admin.disconnect()
  await server.stop()
})

const flushCode = async (on = admin) => {
  await on.script("FLUSH")
  await on.call("FUNCTION", "FLUSH")
}

/** How often each command was called. */
async function callsOf(client = admin): Promise<Record<string, number>> {
  const stats = (await client.info("commandstats")).matchAll(/cmdstat_([^:]+):calls=(\d+)/g)
  return Object.fromEntries(Array.from(stats, ([, name, calls]) => [name, Number(calls)]))
}

const isLoaded = async (on = admin) => ((await on.call("FUNCTION", "LIST")) as unknown[]).length === 1

describe("the library is delivered", () => {
  test("as a function, which the first call loads in the background while it uses EVAL", async () => {
    const limiter = createLimiter({ policy, store: redisStore(ioredis(admin)) })
    expect((await limiter.tryAcquire("k")).remaining).toBe(19)
    await vi.waitFor(async () => expect(await isLoaded()).toBe(true))
    expect(await callsOf()).toMatchObject({ fcall: 1, eval: 1, "function|load": 1 })
  })

  test("with one FCALL per batch and no EVAL once it is loaded", async () => {
    await admin.call("FUNCTION", "LOAD", library.text)
    await admin.config("RESETSTAT")
    const limiter = createLimiter({ policy, store: redisStore(ioredis(admin)) })
    for (let i = 0; i < 10; i += 1) await limiter.tryAcquire(`k${i}`)
    await Promise.all(Array.from({ length: 10 }, (_, i) => limiter.tryAcquire(`k${i}`)))
    const { fcall, eval: evals, evalsha } = await callsOf()
    expect({ fcall, evals, evalsha }).toEqual({ fcall: 11, evals: undefined, evalsha: undefined })
  })

  test("under a name with a hash of its source, so that versions can coexist", () => {
    expect(library.name).toMatch(/^sluice_[0-9a-f]{12}$/)
    expect(library.text.startsWith(`#!lua name=${library.name}\n`)).toBe(true)
  })

  test("as a script only, and never as a function, with delivery: script", async () => {
    const store = redisStore(ioredis(admin), { delivery: "script" })
    const limiter = createLimiter({ policy, store })
    for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("k")
    const calls = await callsOf()
    expect(calls).toMatchObject({ evalsha: 5, eval: 1 })
    expect(calls["fcall"]).toBeUndefined()
    expect(await isLoaded()).toBe(false)
  })

  test.each([
    ["whose commands are renamed", ["--rename-command", "FCALL", "", "--rename-command", "FUNCTION", ""]],
  ])("as a script on a server without functions: %s", async (_why, args) => {
    const without = await startRedis({ args })
    const client = new Redis(without.port, without.host)
    const limiter = createLimiter({ policy, store: redisStore(ioredis(client)) })
    for (let left = 19; left >= 10; left -= 1) expect((await limiter.tryAcquire("k")).remaining).toBe(left)
    expect(await callsOf(client)).toMatchObject({ evalsha: 10, eval: 1 })
    client.disconnect()
    await without.stop()
  })

  test("on every master of a Cluster, through every client", async () => {
    const cluster = await startCluster(3)
    for (const kind of clientKinds) {
      const masters = cluster.nodes.map(({ port, host }) => new Redis(port, host))
      for (const master of masters) await flushCode(master)
      const connected = await kind.cluster(cluster.nodes[0]?.port as number)
      const limiter = createLimiter({ name: kind.name, policy, store: redisStore(connected.client) })
      for (let i = 0; i < 50; i += 1) expect((await limiter.tryAcquire(`k${i}`)).remaining).toBe(19)
      for (const master of masters) {
        await vi.waitFor(async () => expect(await isLoaded(master), kind.name).toBe(true))
        master.disconnect()
      }
      await connected.close()
    }
    await cluster.stop()
  })
})

describe.each<[string, RedisStoreOptions, () => Promise<unknown>]>([
  ["FUNCTION FLUSH by function", {}, () => admin.call("FUNCTION", "FLUSH")],
  ["SCRIPT FLUSH by script", { delivery: "script" }, () => admin.script("FLUSH")],
  ["both, by function", {}, () => flushCode()],
])("%s", (_what, options, flush) => {
  test("between any two calls has no effect, through ioredis", async () => {
    await flushedBetweenCalls(redisStore(ioredis(admin), { ...options, clock }))
  })

  test("between any two calls has no effect, through node-redis", async () => {
    const client = await createClient({ url: server.url }).connect()
    await flushedBetweenCalls(redisStore(nodeRedis(client), { ...options, clock }))
    client.destroy()
  })

  test("during 200 concurrent requests has no effect", async () => {
    const limiter = createLimiter({ policy, store: redisStore(ioredis(admin), { ...options, clock }) })
    const flushing = setInterval(flush, 1)
    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.tryAcquire("k")))
    clearInterval(flushing)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20)
  })

  async function flushedBetweenCalls(store: Store) {
    const limiter = createLimiter({ name: "flushed", policy, store })
    for (let left = 19; left >= 0; left -= 1) {
      await flush()
      expect((await limiter.tryAcquire("k")).remaining).toBe(left)
      await flush()
      expect((await limiter.peek("k")).remaining).toBe(left)
    }
    await flush()
    await limiter.refund("k", { burst: 5, all: 5 })
    expect((await limiter.peek("k")).remaining).toBe(5)
    await flush()
    await limiter.reset("k")
    expect((await limiter.peek("k")).remaining).toBe(20)
    await limiter.close()
  }
})

describe("a key that moves between any two calls, to a master without the library,", () => {
  let nodes: readonly RedisServer[]
  let stop: () => Promise<void>
  beforeAll(async () => ({ nodes, stop } = await startCluster(2)))
  afterAll(() => stop())
  // Whatever a case before this one has left.
  beforeEach(async () => {
    for (const { port } of nodes) await command(port, "FLUSHALL")
  })

  /** The slot of the only key on one of the masters, and which of them that is. */
  const found = async () => {
    for (const [at, { port }] of nodes.entries()) {
      const [key] = (await command(port, "KEYS", "*")) as string[]
      if (key !== undefined) return { at, slot: Number(await command(port, "CLUSTER", "KEYSLOT", key)) }
    }
    throw new Error("no key is stored")
  }

  test.each(
    clientKinds
      .filter(({ name }) => ["ioredis 6", "node-redis 6", "valkey-glide 2"].includes(name))
      .flatMap((kind) => [
        { kind, name: kind.name, how: "by function", options: {} },
        { kind, name: kind.name, how: "by script", options: { delivery: "script" } as const },
      ]),
  )("is followed through $name, $how", async ({ kind, name, how, options }) => {
    const { client, close } = await kind.cluster(nodes[0]?.port as number)
    const store = redisStore(client, { ...options, clock })
    const limiter = createLimiter({
      name: `moved, ${name}, ${how}`,
      policy: fixedWindow({ limit: 9, window: "1m" }),
      store,
      outage: { deadline: "30s" },
    })
    expect((await limiter.tryAcquire("k")).remaining).toBe(8)
    for (let left = 7; left >= 0; left -= 1) {
      const { at, slot } = await found()
      const target = nodes[1 - at] as RedisServer
      await command(target.port, "FUNCTION", "FLUSH")
      await command(target.port, "SCRIPT", "FLUSH")
      await moveSlot(slot, nodes[at] as RedisServer, target)
      expect((await limiter.tryAcquire("k")).remaining).toBe(left)
    }
    await limiter.reset("k")
    await limiter.close()
    await close()
  })
})

describe.each<[string, RedisStoreOptions]>([
  ["by function", {}],
  ["by script", { delivery: "script" }],
])("a failover between any two calls, %s,", (how, options) => {
  test.each(Object.entries(clients))("causes no error and loses no unit, through %s", async (name, open) => {
    let master = await startRedis()
    let replica = await startReplica(master)
    const proxy = await startProxy(master.port)
    const { client, close } = await open(proxy.port)
    const limiter = createLimiter({
      name: `failover, ${name}, ${how}`,
      policy: fixedWindow({ limit: 6, window: "1m" }),
      store: redisStore(client, { ...options, denyCache: false }),
      outage: { deadline: "30s" },
    })
    for (let left = 5; left >= 0; left -= 1) {
      expect((await limiter.tryAcquire("k")).remaining).toBe(left)
      await inStep(replica, master)
      ;[master, replica] = [replica, master]
      await command(master.port, "REPLICAOF", "NO", "ONE")
      await command(replica.port, "REPLICAOF", master.host, master.port)
      proxy.turnTo(master.port)
      proxy.cut()
      // The client notices that. A call on a connection that is already dead may have run, as far as anybody knows.
      await sleep(100)
    }
    expect((await limiter.tryAcquire("k")).allowed).toBe(false)
    await limiter.close()
    close()
    await proxy.close()
    await Promise.all([master.stop(), replica.stop()])
  })
})

describe.each<[string, RedisStoreOptions]>([
  ["by function", {}],
  ["by script", { delivery: "script" }],
])("while Redis accepts no writes, %s", (_how, options) => {
  const limit = fixedWindow({ limit: 3, window: "1h" })

  test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    ["OOM", () => admin.config("SET", "maxmemory", "1"), () => admin.config("SET", "maxmemory", "0")],
    [
      "NOREPLICAS",
      () => admin.config("SET", "min-replicas-to-write", "1"),
      () => admin.config("SET", "min-replicas-to-write", "0"),
    ],
  ])(
    "an exhausted key stays exhausted, and other requests get the error: %s",
    async (code, refuse, accept) => {
      const store = unguarded(redisStore(ioredis(admin), { ...options, denyCache: false, retryFor: 0 }))
      const limiter = createLimiter({ name: code, policy: limit, store })
      await Promise.all([limiter.tryAcquire("spent", { cost: 3 }), limiter.tryAcquire("half")])
      if (options.delivery !== "script") await vi.waitFor(async () => expect(await isLoaded()).toBe(true))
      await refuse()
      try {
        const [spent, half, fresh, peeked] = await Promise.allSettled([
          limiter.tryAcquire("spent"),
          limiter.tryAcquire("half"),
          limiter.tryAcquire("fresh"),
          limiter.peek("half"),
        ])
        expect(spent).toMatchObject({ value: { allowed: false, remaining: 0 } })
        for (const refused of [half, fresh])
          expect(refused).toMatchObject({
            reason: { code: "STORE_REFUSED", cause: { message: expect.stringMatching(`^${code} `) } },
          })
        expect(peeked).toMatchObject({ value: { allowed: true, remaining: 2 } })
      } finally {
        await accept()
      }
      expect((await limiter.tryAcquire("half")).remaining).toBe(1)
    },
  )

  test("an exhausted key stays exhausted after a snapshot failed: MISCONF", async () => {
    const dir = await mkdtemp(join(tmpdir(), "sluice-misconf-"))
    const server = await startRedis({ dir, args: ["--save", "3600 1", "--dbfilename", "dump.rdb"] })
    const client = new Redis(server.port, server.host)
    const store = unguarded(redisStore(ioredis(client), { ...options, denyCache: false, retryFor: 0 }))
    const limiter = createLimiter({ policy: limit, store })
    await limiter.tryAcquire("spent", { cost: 3 })
    if (options.delivery !== "script") {
      await vi.waitFor(async () => expect(await client.function("LIST")).toHaveLength(1))
    }
    // A snapshot cannot replace a folder.
    await mkdir(join(dir, "dump.rdb"))
    await client.bgsave()
    await vi.waitFor(
      async () => expect(await client.info("persistence")).toContain("rdb_last_bgsave_status:err"),
      {
        timeout: 10_000,
      },
    )
    expect(await limiter.tryAcquire("spent")).toMatchObject({ allowed: false, remaining: 0 })
    await expect(limiter.tryAcquire("fresh")).rejects.toMatchObject({
      code: "STORE_REFUSED",
      cause: { message: expect.stringMatching("^MISCONF ") },
    })
    client.disconnect()
    await server.stop()
    await rm(dir, { recursive: true })
  })
})

describe.each<[string, RedisStoreOptions]>([
  ["by function", {}],
  ["by script", { delivery: "script" }],
])("on a replica, %s", (_how, options) => {
  test("a peek is answered, and a spend is refused", async () => {
    const master = await startRedis()
    const replica = await startRedis({ args: ["--replicaof", `${master.host} ${master.port}`] })
    const [onMaster, onReplica] = [master, replica].map(({ host, port }) => new Redis(port, host)) as [
      Redis,
      Redis,
    ]
    const limiterOn = (client: Redis) =>
      createLimiter({
        name: "replicated",
        policy: {
          burst: fixedWindow({ limit: 3, window: "1h" }),
          log: slidingLog({ limit: 5, window: "1h" }),
        },
        store: unguarded(redisStore(ioredis(client), { ...options, denyCache: false, retryFor: 0 })),
      })
    await limiterOn(onMaster).tryAcquire("k", { cost: { burst: 2 } })
    if (options.delivery !== "script") {
      // Replicas have the library too.
      await vi.waitFor(async () => expect(await onReplica.function("LIST")).toHaveLength(1), {
        timeout: 10_000,
      })
    }
    const limiter = limiterOn(onReplica)
    await vi.waitFor(async () => expect((await limiter.peek("k")).remaining).toBe(1), { timeout: 10_000 })
    expect(await limiter.peek("k", { cost: { burst: 2 } })).toMatchObject({ allowed: false, policy: "burst" })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({
      code: "STORE_REFUSED",
      cause: { message: expect.stringMatching("^READONLY ") },
    })
    for (const client of [onMaster, onReplica]) client.disconnect()
    for (const server of [replica, master]) await server.stop()
  })
})
