import { Redis } from "ioredis"
import { createLimiter, fixedWindow } from "sluice"
import { ioredis, type RedisClient, redisStore } from "sluice/redis"
import { askInBursts } from "./bursts.js"
import type { Task, Work } from "./requester-processes.js"

// A worker process that sends requests: `requester.ts <port of Redis>`. It prints "ready" and replies to each task with a report.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const through = ioredis(client)
let calls = 0
const counting: RedisClient = {
  ...through,
  run(...call) {
    calls += 1
    return through.run(...call)
  },
}
const store = redisStore(counting)

process.on("disconnect", () => process.exit())
process.on("message", async ({ name, limit, load }: Task) => {
  calls = 0
  const limiter = createLimiter({ name, policy: fixedWindow({ limit, window: "1d" }), store })
  const operations = await askInBursts(limiter, load)
  await limiter.close()
  process.send?.({ operations, calls } satisfies Work)
})
await client.ping()
process.send?.("ready")
