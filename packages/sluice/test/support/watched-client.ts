import type { RedisClient } from "sluice/redis"

/** A client that notes how many keys each call carries and how many calls are under way. */
export function watch(through: RedisClient) {
  const calls: number[] = []
  let underWay = 0
  let most = 0
  const runByHash: RedisClient["runByHash"] = async (sha, keys, args) => {
    calls.push(keys.length)
    underWay += 1
    most = Math.max(most, underWay)
    try {
      return await through.runByHash(sha, keys, args)
    } finally {
      underWay -= 1
    }
  }
  return { client: { ...through, runByHash }, calls, most: () => most }
}
