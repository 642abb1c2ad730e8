// What code with rate-limiter-flexible looks like with sluice.
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, leakyBucket, type SluiceError } from "sluice"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))

const limiter = createLimiter({
  name: "api",
  policy: fixedWindow({ limit: 10, window: "1s" }),
  store,
})

export async function handle(user: string): Promise<string> {
  const decision = await limiter.tryAcquire(user, { cost: 2 })
  if (!decision.allowed) return `Retry in ${decision.retryAfter} ms`
  return `${decision.remaining} left`
}

const union = createLimiter({
  name: "union",
  policy: {
    second: fixedWindow({ limit: 5, window: "1s" }),
    day: fixedWindow({ limit: 1_000, window: "1d" }),
  },
  store,
})
export const both = (user: string) => union.tryAcquire(user)

const insured = createLimiter({
  name: "insured",
  policy: fixedWindow({ limit: 100, window: "1m" }),
  store,
  outage: { deadline: "200ms", then: { local: 0.25 } },
})
export const duringOutages = (user: string) => insured.tryAcquire(user)

const queue = createLimiter({
  name: "queue",
  policy: leakyBucket({ capacity: 100, leak: 10, every: "1s" }),
  store,
  maxWaiters: 1_000,
})
export const waitForTurn = (user: string) =>
  queue.acquire(user).catch((error: SluiceError) => `no turn: ${error.code}`)
