import { setTimeout as sleep } from "node:timers/promises"
import { createLimiter, fixedWindow } from "sluice"
import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type ClientKind, type Connected, clientKinds } from "../support/clients.js"
import { type TcpProxy as LossyProxy, startProxy } from "../support/proxy.js"
import {
  command,
  type RedisCluster,
  type RedisServer,
  startCluster,
  startRedis,
} from "../support/redis-server.js"
import { unguarded } from "../support/unguarded.js"

const limit = 1_000

/** Loses the replies to 50 requests and breaks the connection. Each must have run once and reject with STORE_UNKNOWN. */
async function losesReplies(proxy: LossyProxy, name: string, { client, close }: Connected) {
  const store = unguarded(redisStore(client, { retryFor: "10s" }))
  const limiter = createLimiter({ name, policy: fixedWindow({ limit, window: "1h" }), store })
  await limiter.tryAcquire("k")
  proxy.swallowReplies()
  const requests = Array.from({ length: 50 }, () => limiter.tryAcquire("k"))
  const outcomes = Promise.allSettled(requests)
  await sleep(200)
  proxy.cut()
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "STORE_UNKNOWN" } })
  }
  await expect.poll(() => limiter.peek("k").catch(() => ({}))).toMatchObject({ remaining: limit - 51 })
  await close()
}

const throughEach = (open: (kind: ClientKind) => Promise<Connected>, proxy: () => LossyProxy) =>
  test.each(clientKinds)("through $name with the settings in the docs", async (kind) =>
    losesReplies(proxy(), kind.name, await open(kind)),
  )

describe("a call whose reply is lost runs once and rejects with STORE_UNKNOWN", () => {
  let server: RedisServer
  let proxy: LossyProxy
  beforeAll(async () => {
    server = await startRedis()
    proxy = await startProxy(server.port)
  })
  afterAll(async () => {
    await proxy.close()
    await server.stop()
  })

  throughEach(
    (kind) => kind.single(proxy.port),
    () => proxy,
  )
})

describe("a call whose reply is lost in a Cluster runs once and rejects with STORE_UNKNOWN", () => {
  let cluster: RedisCluster
  let proxy: LossyProxy
  beforeAll(async () => {
    cluster = await startCluster(1)
    const [{ port }] = cluster.nodes as [RedisServer]
    proxy = await startProxy(port)
    await command(port, "CONFIG", "SET", "cluster-announce-port", proxy.port)
  })
  afterAll(async () => {
    await proxy.close()
    await cluster.stop()
  })

  throughEach(
    (kind) => kind.cluster(proxy.port),
    () => proxy,
  )
})
