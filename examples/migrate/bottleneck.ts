// What code with Bottleneck looks like with sluice.
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"

export const client = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379", { lazyConnect: true })
const store = redisStore(ioredis(client))
const callPartner = async (id: number) => `answer ${id}`

const limiter = createLimiter({
  name: "partner",
  policy: tokenBucket({ capacity: 1, refill: 1, every: "200ms" }),
  store,
  maxWait: "1m",
  maxWaiters: 1_000,
})

export const schedule = (id: number) => limiter.run("partner", () => callPartner(id))

const reservoir = createLimiter({
  name: "reservoir",
  policy: {
    pace: tokenBucket({ capacity: 5, refill: 5, every: "1s" }),
    minute: fixedWindow({ limit: 100, window: "1m", align: "clock" }),
  },
  store,
})

export const weighted = (id: number, signal: AbortSignal) =>
  reservoir.run("partner", () => callPartner(id), { cost: { minute: 5 }, signal })

const group = createLimiter({
  name: "group",
  policy: tokenBucket({ capacity: 1, refill: 1, every: "1s" }),
  store,
})

export const byCustomer = (customer: string, id: number) => group.run(customer, () => callPartner(id))
