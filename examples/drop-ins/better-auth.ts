// better-auth with the counters of its rate limiter in Redis.
import { betterAuth } from "better-auth"
import { Redis } from "ioredis"
import { sluiceStore } from "sluice/better-auth"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))

export const auth = betterAuth({
  baseURL: "http://localhost:3000",
  secret: "replace this by a secret of your own",
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: true, customStorage: sluiceStore({ store }) },
})
