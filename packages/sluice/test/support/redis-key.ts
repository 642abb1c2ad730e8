import { scopeOf, stateKey } from "sluice"
import { tagOf } from "../../src/stores/redis/slot-tag.js"

/** The key in Redis of a state, under the prefix that is there unless told. */
export function redisKey(limiter: string, key: string, policy: string, suffix: string): string {
  const place = { scope: scopeOf(limiter, policy), key }
  return `sluice:1:{${tagOf(place)}}:${stateKey(place)}:${suffix}`
}
