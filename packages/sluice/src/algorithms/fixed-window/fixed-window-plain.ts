import type { Spent } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import { BOOKED, type FixedWindowTerms, REACH, START, STOP, USED } from "./fixed-window-state.js"

/**
 * Spends from a window that nobody has booked and no other policy stretches, and that has room: `take` in few words, as in
 * `fixed-window-plain.lua`.
 */
export function spendPlain(
  { limit, window, aligned, cost }: FixedWindowTerms,
  cells: Float64Array,
  cell: number,
  now: number,
): Spent | undefined {
  const isOpen = (cells[cell + STOP] as number) > now
  const start = isOpen ? (cells[cell + START] as number) : now
  const stop = aligned === 1 ? (Math.floor(now / window) + 1) * window : start + window
  const used = (isOpen ? (cells[cell + USED] as number) : 0) + cost
  // a window that has begun and ends when it should is not of a clock that has jumped
  if (used > limit || start > now) return undefined
  if (isOpen && (cells[cell + STOP] !== stop || cells[cell + BOOKED] !== 0)) return undefined
  cells[cell + START] = start
  cells[cell + STOP] = stop
  cells[cell + USED] = used
  cells[cell + REACH] = isOpen ? Math.max(cells[cell + REACH] as number, window / 1_000) : window / 1_000
  cells[cell + BOOKED] = 0
  return {
    expiresAt: stop,
    limit,
    remaining: limit - used,
    resetAfter: wholeMilliseconds(stop - now),
  }
}
