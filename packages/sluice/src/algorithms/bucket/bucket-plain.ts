import type { Numbers, Spent } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import { FORM, FULL, REACH } from "./bucket-state.js"
import type { BucketTerms } from "./bucket-terms.js"

/** Spends from a bucket without parts, steps or a line that has room: `take` in few words, as in `bucket-plain.lua`. */
export function spendPlain(
  { parts, step, cost, span, reach, capacity, unit }: BucketTerms,
  { near }: Numbers,
  cell: number,
  now: number,
): Spent | undefined {
  const full = near[cell + FULL] as number
  const form = near[cell + FORM] as number
  const ahead = full > now ? full - now + cost : cost
  // with room left it lies no further ahead than its capacity: no clock has jumped
  if (parts > 1 || step > 0 || ahead > span || form > 1 || form < 0) return undefined
  near[cell + FULL] = now + ahead
  near[cell + FORM] = 1
  near[cell + REACH] = reach
  return {
    expiresAt: now + ahead + 1,
    limit: capacity,
    remaining: Math.floor((span - ahead) / unit),
    resetAfter: wholeMilliseconds(ahead),
  }
}
