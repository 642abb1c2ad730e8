// express-rate-limit with its counters in Redis.
import express from "express"
import { rateLimit } from "express-rate-limit"
import { Redis } from "ioredis"
import { slidingWindow } from "sluice"
import { sluiceStore } from "sluice/express-rate-limit"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))
export const app = express()

app.use(
  rateLimit({
    windowMs: 60_000,
    limit: 100,
    store: sluiceStore({ store }),
  }),
)

app.use(
  "/search",
  rateLimit({
    windowMs: 60_000,
    limit: 10,
    store: sluiceStore({ store, prefix: "search", policy: slidingWindow }),
  }),
)
