import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { GlideClient } from "@valkey/valkey-glide"
import { glide } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { outcomeOf } from "../../src/stores/redis/outcome.js"
import { type Connected, clientKinds } from "../support/clients.js"
import { startProxy } from "../support/proxy.js"
import {
  command,
  type RedisCluster,
  type RedisServer,
  startCluster,
  startRedis,
} from "../support/redis-server.js"

let server: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  server = await startRedis({
    args: ["--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"],
  })
  cluster = await startCluster(1)
})
afterAll(async () => {
  await server.stop()
  await cluster.stop()
})

const increment = "return redis.call('INCR', KEYS[1])"

async function open(connecting: Promise<Connected>): Promise<Connected> {
  const { client, close } = await connecting
  onTestFinished(async () => {
    await (async () => close())().catch(() => {}) // some refuse to be closed twice
  })
  return { client, close }
}

async function errorOf(call: Promise<unknown>): Promise<Error> {
  return call.then(
    (reply) => Promise.reject(new Error(`expected an error, got ${reply}`)),
    (error) => error,
  )
}

describe.each(clientKinds)("errors of $name", ({ name, single, cluster: clustered }) => {
  const isIoredis = name.startsWith("io")
  const isGlide = name.startsWith("valkey-glide")

  test.each([
    ["unloaded", ["NOSCRIPT"]],
    ["again", ["ASK", "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MOVED", "READONLY", "TRYAGAIN"]],
    ["refused", ["CROSSSLOT", "MISCONF", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM", "WRONGPASS", "WRONGTYPE"]],
    ["unknown", ["ERR", "EXECABORT", "UNKILLABLE", "SOMETHING"]],
  ] as const)("error replies are classified: %s", async (outcome, codes) => {
    const { client } = await open(single(server.port))
    for (const code of codes) {
      const text = code === "MOVED" || code === "ASK" ? "1 127.0.0.1:1" : "text of the server"
      const raise = `return redis.error_reply('${code} ${text}')`
      const error = await errorOf(client.run("EVAL", raise, ["k"], []))
      expect(outcomeOf(error), `${code} came as ${error.message}`).toBe(outcome)
    }
  })

  test("an unknown script is classified as not loaded", async () => {
    const { client } = await open(single(server.port))
    expect(outcomeOf(await errorOf(client.run("EVALSHA", "f".repeat(40), ["k"], [])))).toBe("unloaded")
  })

  test("an error in the middle of a script is classified as unknown", async () => {
    const { client } = await open(single(server.port))
    const half = "redis.call('INCR', KEYS[1]) local none return none.field"
    expect(outcomeOf(await errorOf(client.run("EVAL", half, ["half"], [])))).toBe("unknown")
  })

  test("an error of a server that became a replica means that the call did not run", async () => {
    const { client } = await open(single(server.port))
    await command(server.port, "REPLICAOF", "127.0.0.1", 1)
    onTestFinished(async () => {
      await command(server.port, "REPLICAOF", "NO", "ONE")
    })
    expect(outcomeOf(await errorOf(client.run("EVAL", increment, ["read-only"], [])))).toBe("again")
    expect(await command(server.port, "EXISTS", "read-only")).toBe(0)
  })

  test("an error of a server that loads its data means that the call did not run", async () => {
    const { client } = await open(single(server.port))
    for (let i = 0; i < 10; i += 1) {
      // Random data: compressible data loads without a pause in which the server replies.
      await command(server.port, "SET", `bulk:${i}`, randomBytes(1_000).toString("hex"))
    }
    await command(server.port, "CONFIG", "SET", "key-load-delay", 50_000)
    const loaded = command(server.port, "DEBUG", "RELOAD")
    onTestFinished(async () => {
      await loaded
      await command(server.port, "CONFIG", "SET", "key-load-delay", 0)
      await command(server.port, "FLUSHALL")
    })
    await sleep(100)
    const error = await errorOf(client.run("EVAL", increment, ["loading"], []))
    expect(outcomeOf(error)).toBe("again")
    await loaded
    expect(await command(server.port, "EXISTS", "loading")).toBe(0)
  })

  test("an error of an unreachable server means that the call did not run, if the client can know", async () => {
    const proxy = await startProxy(server.port)
    const { client } = await open(single(proxy.port))
    await proxy.close()
    await sleep(100)
    const error = await errorOf(client.run("EVAL", increment, ["k"], []))
    expect(outcomeOf(error)).toBe(isGlide ? "unknown" : "again")
  })

  test("an error of an unreachable Cluster means that the call did not run, if the client can know", async () => {
    const [{ port }] = cluster.nodes as [RedisServer]
    const proxy = await startProxy(port)
    await command(port, "CONFIG", "SET", "cluster-announce-port", proxy.port)
    const { client } = await open(clustered(proxy.port))
    await client.run("EVAL", increment, ["k"], [])
    await proxy.close()
    await sleep(100)
    const error = await errorOf(client.run("EVAL", increment, ["k"], []))
    expect(outcomeOf(error)).toBe(isGlide ? "unknown" : "again")
  })

  test("a connection that breaks during a call is classified as unknown", async () => {
    const proxy = await startProxy(server.port)
    onTestFinished(() => proxy.close())
    const { client } = await open(single(proxy.port))
    await command(server.port, "SET", "cut", 1)
    proxy.swallowReplies()
    const call = errorOf(client.run("EVAL", increment, ["cut"], []))
    await expect.poll(() => command(server.port, "GET", "cut")).toBe("2")
    proxy.cut()
    expect(outcomeOf(await call)).toBe("unknown")
  })

  test("an error of a closed client means that the call did not run, if the client can know", async () => {
    const { client, close } = await open(single(server.port))
    await close()
    await sleep(20)
    const error = await errorOf(client.run("EVAL", increment, ["closed"], []))
    // ioredis has the same message for a call that was in flight when its connection broke.
    expect(outcomeOf(error)).toBe(isIoredis ? "unknown" : "refused")
    expect(await command(server.port, "EXISTS", "closed")).toBe(0)
  })
})

describe("errors of valkey-glide", () => {
  const addresses = () => [{ host: server.host, port: server.port }]

  test("one call too many is classified as not run", async () => {
    const instance = await GlideClient.createClient({ addresses: addresses(), inflightRequestsLimit: 1 })
    onTestFinished(() => instance.close())
    await command(server.port, "DEL", "many")
    const calls = Array.from({ length: 10 }, () => glide(instance).run("EVAL", increment, ["many"], []))
    const outcomes = (await Promise.allSettled(calls)).map((call) =>
      call.status === "fulfilled" ? "ran" : outcomeOf(call.reason),
    )
    expect(new Set(outcomes)).toEqual(new Set(["ran", "again"]))
    const ran = outcomes.filter((outcome) => outcome === "ran")
    expect(await command(server.port, "GET", "many")).toBe(String(ran.length))
  })

  test("a call that times out is classified as unknown", async () => {
    const instance = await GlideClient.createClient({ addresses: addresses(), requestTimeout: 50 })
    onTestFinished(() => instance.close())
    await command(server.port, "DEL", "slow")
    await command(server.port, "CLIENT", "PAUSE", 200, "WRITE")
    expect(outcomeOf(await errorOf(glide(instance).run("EVAL", increment, ["slow"], [])))).toBe("unknown")
    await expect.poll(() => command(server.port, "GET", "slow")).toBe("1")
  })
})
