// What code with @upstash/ratelimit looks like with sluice, on any Redis.
import { Redis } from "ioredis"
import { createLimiter, slidingWindow, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))

const ratelimit = createLimiter({
  name: "api",
  policy: slidingWindow({ limit: 10, window: "10s" }),
  store,
})

export async function handle(user: string): Promise<Response> {
  const decision = await ratelimit.tryAcquire(user)
  if (!decision.allowed) return new Response("Too many requests", { status: 429 })
  return Response.json({ remaining: decision.remaining, reset: Date.now() + decision.resetAfter })
}

const bucket = createLimiter({
  name: "bucket",
  policy: tokenBucket({ capacity: 10, refill: 5, every: "10s", mode: "interval" }),
  store,
  outage: { deadline: "5s", then: "open" },
})

export const blockUntilReady = (user: string) => bucket.tryAcquire(user, { timeout: "30s" })

export const forPlan = (user: string, limit: number) =>
  ratelimit.tryAcquire(user, { cost: 2, policy: slidingWindow({ limit, window: "10s" }) })
