import type { Clock } from "../../clock.js"
import { windowOf } from "../../policy.js"
import { warn } from "../../runtime.js"
import type { PolicyRequest } from "../../store.js"
import type { RedisClient } from "./client.js"

/** Milliseconds between two comparisons. */
const PAUSE = 60_000
/** Milliseconds: a clock that is further off is a test's, and not meant to tell the time. */
const DAY = 86_400_000
/** Milliseconds by which clocks may differ, however short the policy: the grace of the algorithms. */
const SECOND = 1_000

/**
 * Compares a caller's clock with the server's, now and then, and warns once if they differ by more than half of the shortest
 * window. Two such processes may differ by a whole window, and then undo each other's counting.
 */
export function skewWarning(client: RedisClient, clock: Clock): (policies: readonly PolicyRequest[]) => void {
  let shortest = Number.POSITIVE_INFINITY
  let comparedAt = Number.NEGATIVE_INFINITY
  let hasWarned = false

  const compare = async () => {
    const before = clock()
    if (Math.abs(before - Date.now()) > DAY) return
    const server = millisecondsIn(await client.time?.())
    const after = clock()
    // The reply was written at some moment between the two.
    const skew = Math.max(before - server, server - after, 0)
    if (hasWarned || !(skew > Math.max(shortest, SECOND) / 2)) return
    hasWarned = true
    warn(
      `The clock that redisStore was given differs from the server's by ${Math.round(skew)} ms, and the shortest window is ${shortest} ms. If processes differ from each other by more than that, limits do not hold: synchronise their clocks, or leave \`clock\` out. See docs/redis.md.`,
    )
  }

  return (policies) => {
    for (const { policy } of policies) shortest = Math.min(shortest, windowOf(policy))
    const now = performance.now()
    if (client.time === undefined || now - comparedAt < PAUSE) return
    comparedAt = now
    // A comparison that fails says nothing. Calls that fail are reported to their callers.
    compare().catch(() => {})
  }
}

/** The reply to TIME as milliseconds: seconds and microseconds, or a date. */
function millisecondsIn(reply: unknown): number {
  if (reply instanceof Date) return reply.getTime()
  if (!Array.isArray(reply)) return Number.NaN
  return Number(String(reply[0])) * 1_000 + Number(String(reply[1])) / 1_000
}
