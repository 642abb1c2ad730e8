import { Redis } from "ioredis"
import { createLimiter, fixedWindow } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { createRules } from "sluice/rules"
import type { Sample } from "../ops/rules-processes.test.js"

// The program of a process under rules, `rules-worker.ts <port of Redis>`: it says "ready" and asks for the keys it is told.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const store = redisStore(ioredis(client))
const rules = createRules(store)
const policy = fixedWindow({ limit: 300, window: "1h" })
const limiter = createLimiter({ name: "api", policy, store, rules, lease: true })

process.on("message", async ({ keys, until }: { keys: string[]; until: number }) => {
  const samples: Sample[] = []
  while (Date.now() < until) {
    const t = Date.now()
    const decisions = await Promise.all(keys.map((key) => limiter.tryAcquire(key)))
    for (const [i, { allowed, limit, source }] of decisions.entries()) {
      samples.push({ key: keys[i] as string, t, allowed, limit, source })
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  process.send?.(samples)
})
await rules.ready
process.send?.("ready")
