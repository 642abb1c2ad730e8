// One limit with Java services, which call it redisson.getRateLimiter("partner").
import { Redis } from "ioredis"
import { SluiceError } from "sluice"
import { ioredis } from "sluice/redis"
import { redissonRateLimiter } from "sluice/redisson"

const { REDIS_URL = "redis://127.0.0.1:6379" } = process.env
// Fail at once instead of queueing, and never send again what may have run.
const client = new Redis(REDIS_URL, {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
})
client.on("error", () => {}) // each call says what became of it

const limiter = redissonRateLimiter(ioredis(client), "partner")

try {
  // whoever comes first sets it; in Java: trySetRate(RateType.OVERALL, 5, Duration.ofSeconds(1))
  await limiter.trySetRate("OVERALL", 5, "1s")

  for (const permits of [3, 2, 4]) {
    const { allowed, remaining, retryAfter } = await limiter.tryAcquire(permits)
    if (allowed) console.log(`${permits} permits: granted, ${remaining} left`)
    else console.log(`${permits} permits: refused, they can be had in ${retryAfter} ms`)
  }

  // refused at once: the wait would be longer
  const hurried = await limiter.tryAcquire(4, "10ms")
  console.log(`4 permits within 10 ms: ${hurried.allowed ? "granted" : "refused"}`)

  // waits for its turn
  await limiter.acquire(4)
  console.log("4 permits: granted after a wait")
} catch (error) {
  if (!(error instanceof SluiceError)) throw error
  console.error(`${error.code}: ${error.message}. REDIS_URL tells where Redis listens.`)
  process.exitCode = 1
} finally {
  await limiter.close()
  client.disconnect()
}
