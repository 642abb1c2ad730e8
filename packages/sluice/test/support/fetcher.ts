import { Redis } from "ioredis"
import { leakyBucket } from "sluice"
import { limitedFetch } from "sluice/fetch"
import { ioredis, redisStore } from "sluice/redis"

// A worker process that fetches: `fetcher.ts <port of Redis>`. It prints "ready", and replies to each URL with the status of
// its response.
const client = new Redis(Number(process.argv[2]), "127.0.0.1")
const fetch = limitedFetch(
  {
    name: "shared",
    policy: leakyBucket({ capacity: 100, leak: 20, every: "1s" }),
    store: redisStore(ioredis(client)),
  },
  { retries: 0 },
)

process.on("disconnect", () => process.exit())
process.on("message", async (url: string) => {
  const { status } = await fetch(url)
  process.send?.(status)
})
await client.ping()
process.send?.("ready")
