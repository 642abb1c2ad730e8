// What code with Bottleneck looks like with sluice.
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, leakyBucket, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))
const callPartner = async (id: number) => `answer ${id}`

const limiter = createLimiter({
  name: "partner",
  policy: leakyBucket({ capacity: 1, leak: 1, every: "200ms" }),
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
  policy: leakyBucket({ capacity: 1, leak: 1, every: "1s" }),
  store,
})

export const byCustomer = (customer: string, id: number) => group.run(customer, () => callPartner(id))
