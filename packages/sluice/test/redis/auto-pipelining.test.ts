import { Cluster as Cluster6, Redis as Redis6 } from "ioredis"
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5"
import { Redis as Iovalkey } from "iovalkey"
import { createLimiter, tokenBucket } from "sluice"
import { type IoredisLike, ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { type RedisCluster, type RedisServer, startCluster, startRedis } from "../support/redis-server.js"

let server: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  server = await startRedis()
  cluster = await startCluster(3)
})
afterAll(async () => {
  await server.stop()
  await cluster.stop()
})

const options = { enableAutoPipelining: true }
const policy = tokenBucket({ capacity: 1_000, refill: 1, every: "1h" })

interface Pipelining {
  pipeline(): unknown
  disconnect(): void
  get(key: string): Promise<unknown>
}

test.each<[string, () => Pipelining]>([
  ["ioredis 6", () => new Redis6(server.port, server.host, options)],
  ["ioredis 5", () => new Redis5(server.port, server.host, options) as unknown as Pipelining],
  ["iovalkey", () => new Iovalkey(server.port, server.host, options) as unknown as Pipelining],
  ["ioredis 6 Cluster", () => new Cluster6([{ host: server.host, port: portOf() }], options)],
  [
    "ioredis 5 Cluster",
    () => new Cluster5([{ host: server.host, port: portOf() }], options) as unknown as Pipelining,
  ],
])("the store's calls bypass auto-pipelining, and other commands do not: %s", async (name, connect) => {
  const client = connect()
  const pipeline = vi.spyOn(client, "pipeline")
  const limiter = createLimiter({
    name,
    policy,
    store: redisStore(ioredis(client as unknown as IoredisLike)),
  })
  await limiter.tryAcquire("k0")
  const decisions = await Promise.all(Array.from({ length: 300 }, (_, i) => limiter.tryAcquire(`k${i % 20}`)))
  expect(decisions.every(({ allowed, degraded }) => allowed && !degraded)).toBe(true)
  expect((await limiter.peek("k1")).remaining).toBe(985)
  expect(pipeline).not.toHaveBeenCalled()
  await client.get("other")
  expect(pipeline).toHaveBeenCalled()
  client.disconnect()
})

function portOf(): number {
  return cluster.nodes[0]?.port as number
}
