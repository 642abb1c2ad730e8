import { Redis } from "ioredis"
import { createLimiter, memoryStore, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import type { Crowd, CrowdReport } from "./waiter-workers.js"

// A worker process with many waiters: `waiter-worker.ts <port of Redis>`. It prints "ready", and reports the cost of each
// crowd.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const warnings: string[] = []
let crowds = 0
process.on("warning", ({ name }) => {
  // Connect first, because that is not measured.
  if (name !== "SluiceWarning") warnings.push(name)
})

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length

async function memory(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc?.()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

async function wait({ on, waiters, keys, signals }: Crowd) {
  const store = on === "redis" ? redisStore(ioredis(client)) : memoryStore()
  // One unit now, then one per minute: all others wait until they abort or the limiter closes.
  const policy = tokenBucket({ capacity: 1, refill: 1, every: "1m" })
  crowds += 1
  const limiter = createLimiter({
    name: `crowd ${crowds}`,
    policy,
    store,
    maxWait: "3650d",
    outage: { deadline: "1m" },
    // One key may use half of the queue.
    maxWaiters: 2 * waiters,
  })
  const own = Array.from({ length: signals }, () => new AbortController())
  const ends = new Map<string, number>()
  const end = (how: string) => ends.set(how, (ends.get(how) ?? 0) + 1)
  const waits = Array.from({ length: waiters }, (_, i) =>
    limiter.acquire(`k${i % keys}`, { signal: own[i % (2 * signals)]?.signal }).then(
      () => end("had"),
      (error) => end(error.code ?? error),
    ),
  )
  await limiter.peek("k0")
  await new Promise((resolve) => setTimeout(resolve, 200))
  const timersWhile = timers()
  for (const each of own) each.abort("gave up")
  await new Promise((resolve) => setTimeout(resolve, 50))
  await limiter.close()
  await Promise.all(waits)
  return { timersWhile, ends: Object.fromEntries(ends) }
}

process.on("disconnect", () => process.exit())
process.on("message", async (crowd: Crowd) => {
  // A warm-up run, to compile the code and grow the heap.
  await wait(crowd)
  const timersBefore = timers()
  const before = await memory()
  const { timersWhile, ends } = await wait(crowd)
  const after = await memory()
  const report = { grown: after - before, timers: timersWhile - timersBefore, ends, warnings }
  process.send?.(report satisfies CrowdReport)
})
await client.ping()
process.send?.("ready")
