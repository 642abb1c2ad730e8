import type { RedisClient } from "sluice/redis"

/** A client that records the keys of each call and the number of calls in flight. */
export function watch(through: RedisClient) {
  const calls: number[] = []
  let underWay = 0
  let most = 0
  const run: RedisClient["run"] = async (...call) => {
    calls.push(call[2].length)
    underWay += 1
    most = Math.max(most, underWay)
    try {
      return await through.run(...call)
    } finally {
      underWay -= 1
    }
  }
  return { client: { ...through, run }, calls, most: () => most }
}
