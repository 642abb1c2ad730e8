import { Session } from "node:inspector/promises"
import { Redis } from "ioredis"
import { createLimiter, tokenBucket } from "sluice"
import { ioredis, library, redisStore } from "sluice/redis"

// A worker process that reports which source files one warm `tryAcquire` runs through: `request-path-worker.ts <port>`.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const policy = tokenBucket({ capacity: 100, refill: 10, every: "1s" })
const limiter = createLimiter({ policy, store: redisStore(ioredis(client)) })
await client.call("FUNCTION", "LOAD", library.text)
for (let i = 0; i < 20; i += 1) await limiter.tryAcquire("user:42")

process.on("disconnect", () => process.exit())
process.on("message", async () => {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  await limiter.tryAcquire("user:42")
  const { result } = await session.post("Profiler.takePreciseCoverage")
  const files = result
    .filter(({ url }) => url.includes("/packages/sluice/src/"))
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .map(({ url }) => url.replace(/^.*\/packages\/sluice\/src\//, "").replace(/\?.*$/, ""))
  process.send?.([...new Set(files)].sort())
})
process.send?.("ready")
