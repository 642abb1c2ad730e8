import { Redis } from "ioredis"
import { createLimiter, fixedWindow } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { topKeys } from "sluice/telemetry"

// The program of a process that publishes its top keys, `top-keys-worker.ts <port of Redis>`. It says "ready", sends as many requests
// for each key as it is told, says "done" and goes on publishing.
const store = redisStore(ioredis(new Redis(Number(process.argv[2]), "127.0.0.1")))
const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 10, window: "1h" }), store })
topKeys({ store, every: 200 })

process.on("message", async (requests: Record<string, number>) => {
  for (const [key, count] of Object.entries(requests)) {
    for (let i = 0; i < count; i += 1) await limiter.tryAcquire(key)
  }
  process.send?.("done")
})
process.send?.("ready")
