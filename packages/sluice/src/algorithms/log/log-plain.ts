import type { Spent } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
import { append, empty, type LogState, type LogTerms, nth, prune, units, WRAP } from "./log-state.js"

/** How many entries may have left since the last grant. */
const FEW = 8

/**
 * Spends from a log without a line that has room, and from which no more than a few entries have left: `take` in few words,
 * as in `log-plain.lua`.
 */
export function spendPlain(
  { limit, window, merge, cost }: LogTerms,
  cells: LogState[],
  cell: number,
  now: number,
): Spent | undefined {
  const state = cells[cell] ?? empty()
  const { at, sum, till, lead, start } = state
  const newest = at.length - 1
  const last = nth(at, newest)
  let first = start + 1
  const most = Math.min(newest, start + FEW)
  while (first <= most && nth(at, first) + window <= now) first += 1
  const total = units(nth(sum, newest), nth(sum, first - 1))
  // of a clock that has not been set back
  if (last > now || nth(lead, newest) > 0 || total + cost > limit || first > start + FEW) return undefined
  const latest = nth(till, newest)
  const ends = Math.max(wholeMilliseconds(now + window), latest)
  const spent = (nth(sum, newest) + cost) % WRAP
  const sameSubWindow = Math.floor(last / merge) === Math.floor(now / merge)
  if (total > 0 && sameSubWindow && latest >= wholeMilliseconds(last + window)) {
    at[newest] = now
    sum[newest] = spent
    till[newest] = ends
  } else {
    append(state, now, spent, ends, 0)
  }
  prune(state, first, now)
  cells[cell] = state
  return {
    expiresAt: ends * 1_000,
    limit,
    remaining: limit - total - cost,
    resetAfter: wholeMilliseconds(window),
  }
}
