import type { Numbers, Spent } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import { type FixedWindowTerms, REACH, START, STOP, USED } from "./fixed-window-state.js"

/**
 * Spends from a window that nobody has booked and no other policy stretches, and that has room: `take` in few words, as in
 * `fixed-window-plain.lua`.
 */
export function spendPlain(
  { limit, window, aligned, cost }: FixedWindowTerms,
  { near }: Numbers,
  cell: number,
  now: number,
): Spent | undefined {
  const isOpen = (near[cell + STOP] as number) > now
  const start = isOpen ? (near[cell + START] as number) : now
  const stop = aligned === 1 ? (Math.floor(now / window) + 1) * window : start + window
  const used = (isOpen ? (near[cell + USED] as number) : 0) + cost
  const reach = isOpen ? (near[cell + REACH] as number) : 0
  // a window that has begun and ends when it should is not of a clock that has jumped
  if (used > limit || start > now || reach < 0 || (isOpen && near[cell + STOP] !== stop)) return undefined
  near[cell + START] = start
  near[cell + STOP] = stop
  near[cell + USED] = used
  near[cell + REACH] = Math.max(reach, window / 1_000)
  return {
    expiresAt: stop,
    limit,
    remaining: limit - used,
    resetAfter: wholeMilliseconds(stop - now),
  }
}
