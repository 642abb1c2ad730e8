// @fastify/rate-limit with its counters in Redis.
import rateLimit from "@fastify/rate-limit"
import fastify from "fastify"
import { Redis } from "ioredis"
import { sluiceStore } from "sluice/fastify-rate-limit"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))
export const app = fastify()

await app.register(rateLimit, {
  max: 100,
  timeWindow: "1 minute",
  store: sluiceStore({ store }),
})
