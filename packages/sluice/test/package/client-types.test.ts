import { symlink } from "node:fs/promises"
import { join } from "node:path"
import { expect, inject, test } from "vitest"
import { createConsumer, root, run } from "./consumer.js"

const main = `
  import { GlideClient, GlideClusterClient } from "@valkey/valkey-glide"
  import { Cluster, Redis } from "ioredis"
  import * as five from "ioredis5"
  import * as valkey from "iovalkey"
  import * as redis from "redis"
  import * as redis4 from "redis4"
  import * as redis5 from "redis5"
  import * as http from "@upstash/redis"
  import { glide, ioredis, nodeRedis, type RedisClient, upstash, upstashSettings } from "sluice/redis"

  const rootNodes = [{ url: "redis://127.0.0.1" }]
  const sentinelRootNodes = [{ host: "127.0.0.1", port: 26379 }]
  export const clients: RedisClient[] = [
    ioredis(new Redis()),
    ioredis(new Cluster([])),
    ioredis(new five.Redis()),
    ioredis(new five.Cluster([])),
    ioredis(new valkey.Redis()),
    ioredis(new valkey.Cluster([])),
    nodeRedis(redis.createClient()),
    nodeRedis(redis.createCluster({ rootNodes })),
    nodeRedis(redis.createSentinel({ name: "main", sentinelRootNodes })),
    nodeRedis(redis.createClientPool()),
    nodeRedis(redis5.createClient()),
    nodeRedis(redis5.createCluster({ rootNodes })),
    nodeRedis(redis5.createSentinel({ name: "main", sentinelRootNodes })),
    nodeRedis(redis5.createClientPool()),
    nodeRedis(redis4.createClient()),
    nodeRedis(redis4.createCluster({ rootNodes })),
    glide(await GlideClient.createClient({ addresses: [] })),
    glide(await GlideClusterClient.createClient({ addresses: [] })),
    upstash(new http.Redis({ ...upstashSettings, url: "", token: "" })),
  ]
  // @ts-expect-error a client of another kind
  nodeRedis(new Redis())
  // @ts-expect-error a client of another kind
  glide(redis.createClient())
`

test("every client that is supported fits its adapter", async () => {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: "es2022",
    module: "nodenext",
    types: ["node"],
  }
  const names = ["@upstash", "@valkey", "ioredis", "ioredis5", "iovalkey", "redis", "redis4", "redis5"]
  await using consumer = await createConsumer(inject("packed"), {
    "main.ts": main,
    "tsconfig.json": JSON.stringify({ compilerOptions, files: ["main.ts"] }),
  })
  for (const name of names) {
    await symlink(join(root, "node_modules", name), join(consumer.folder, "node_modules", name))
  }
  expect(await run(consumer.folder, join(root, "node_modules/.bin/tsc"))).toBe("")
})
