import { policyRef } from "sluice/store"
import { RedisKeys } from "../../src/stores/redis/keys.js"

/** The key in Redis of a state, under the default prefix. */
export function redisKey(limiter: string, key: string, policy: string, suffix: string): string {
  return new RedisKeys("sluice").note({ ref: policyRef(limiter, policy), key }, suffix)
}
