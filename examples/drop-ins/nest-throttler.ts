// @nestjs/throttler with its counters in Redis.
import "reflect-metadata"
import { ThrottlerModule } from "@nestjs/throttler"
import { Redis } from "ioredis"
import { sluiceStore } from "sluice/nest-throttler"
import { ioredis, redisStore } from "sluice/redis"

const store = redisStore(ioredis(new Redis({ lazyConnect: true })))

export const throttling = ThrottlerModule.forRoot({
  throttlers: [{ ttl: 60_000, limit: 100 }],
  storage: sluiceStore({ store }),
})
