export type { PermitDecision } from "./decision.js"
export type { Rate, RateConfig, RateType } from "./rate.js"
export {
  type RedissonRateLimiter,
  type RedissonRateLimiterOptions,
  redissonRateLimiter,
  type SetRateOptions,
  type TryAcquireOptions,
  type WaitOptions,
} from "./redisson-rate-limiter.js"
