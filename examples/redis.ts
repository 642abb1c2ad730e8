// Two plans, each a record of policies that are charged all or nothing: calls by number, and by size.
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, SluiceError, slidingLog, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"

const plans = {
  free: {
    requests: slidingLog({ limit: 3, window: "1m" }),
    tokens: fixedWindow({ limit: 10_000, window: "1d", align: "clock" }),
  },
  pro: {
    requests: slidingLog({ limit: 100, window: "1m" }),
    tokens: tokenBucket({ capacity: 50_000, refill: 1_000, every: "1s" }),
  },
}

const { REDIS_URL = "redis://127.0.0.1:6379" } = process.env
// Fail at once instead of queueing, and never send again what may have run.
const client = new Redis(REDIS_URL, {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
})
client.on("error", () => {}) // each call says what became of it

const limiter = createLimiter({
  name: "llm",
  policy: (key) => plans[key.startsWith("pro:") ? "pro" : "free"],
  store: redisStore(ioredis(client)),
})

async function call(key: string, tokens: number): Promise<void> {
  const decision = await limiter.tryAcquire(key, { cost: { requests: 1, tokens } })
  const { allowed, policy, remaining, retryAfter } = decision
  const what = `${key.padEnd(9)} ${String(tokens).padStart(6)} tokens`
  if (allowed) console.log(`${what}  passes   ${remaining} ${policy} left`)
  else if (retryAfter === Number.POSITIVE_INFINITY) console.log(`${what}  refused  never fits ${policy}`)
  else console.log(`${what}  refused  by ${policy} for ${Math.ceil(retryAfter / 1_000)} s`)
}

try {
  for (const key of ["free:ann", "pro:bob"]) {
    await limiter.reset(key)
    for (const tokens of [4_000, 4_000, 4_000, 1_000, 60_000]) await call(key, tokens)
  }
} catch (error) {
  if (!(error instanceof SluiceError)) throw error
  console.error(`${error.code}: ${error.message}. REDIS_URL tells where Redis listens.`)
  process.exitCode = 1
} finally {
  await limiter.close()
  client.disconnect()
}
