import type { State } from "../../algorithm.js"

/**
 * The sliding log, and the sliding window as the same log merged.
 *
 * Every grant is an entry with its time and the running total of all units so far. The units between two entries are then
 * one subtraction. An entry counts while `at + window > now`. Grants within one sub-window of `merge` microseconds share an
 * entry, which takes the time of its newest unit. For the log itself `merge` is 1.
 *
 * The oldest entry is a base: the running total before the entries that follow.
 *
 * A booked turn is an entry in the future. No request is admitted before it.
 */
export interface LogParameters {
  readonly limit: number
  readonly window: number
  readonly merge: number
  readonly cost: number
}

/**
 * Entries are columns, the base at position `start`. A write changes the columns in place, because a copy of a long
 * log would cost more than the step.
 */
export interface LogState extends State {
  expiresAt: number
  readonly at: number[]
  readonly total: number[]
  /** Until when a policy needs an entry, in milliseconds. Never earlier than for the entries before it. */
  readonly till: number[]
  /** How far ahead an entry was booked, in milliseconds. 0 if it was not booked. */
  readonly lead: number[]
  start: number
}

/** Running totals wrap around at this number, which is far above the limit of any policy. */
export const WRAP = 2 ** 48
/** The most expired entries that one grant removes. */
const PRUNE = 32

/**
 * Removes entries before the first that counts, unless the policy that granted them still needs them. Returns the new position
 * of that first entry.
 */
export function prune(state: LogState, first: number, now: number): number {
  const { start, till } = state
  const most = Math.min(first - 1, start + PRUNE)
  while (state.start < most && nth(till, state.start + 1) * 1_000 <= now) state.start += 1
  const gone = state.start
  if (gone <= PRUNE || gone * 2 <= state.at.length) return first
  for (const column of columns(state)) column.splice(0, gone)
  state.start = 0
  return first - gone
}

export function empty(): LogState {
  return { expiresAt: 0, at: [0], total: [0], till: [0], lead: [0], start: 0 }
}

export function append(state: LogState, at: number, total: number, till: number, lead: number): void {
  state.at.push(at)
  state.total.push(total)
  state.till.push(till)
  state.lead.push(lead)
}

export function cutAfter(state: LogState, entry: number): void {
  for (const column of columns(state)) column.length = entry + 1
}

export function columns({ at, total, till, lead }: LogState): number[][] {
  return [at, total, till, lead]
}

/** The state after its entries changed. Undefined if no entry counts any more. */
export function kept(state: LogState, now: number): LogState | undefined {
  const newest = state.at.length - 1
  state.expiresAt = nth(state.till, newest) * 1_000
  return newest === state.start || state.expiresAt <= now ? undefined : state
}

/** Units between two running totals. */
export function units(total: number, base: number): number {
  return (total - base + WRAP) % WRAP
}

export function nth(column: readonly number[], entry: number): number {
  return column[entry] as number
}

/** The first position from `low` on that passes the test, or `high`. All positions after it must pass too. */
export function firstThat(holds: (entry: number) => boolean, low: number, high: number): number {
  // It is usually near the start, so double the stride first, then bisect.
  let below = low - 1
  let stride = 1
  while (below + stride < high && !holds(below + stride)) {
    below += stride
    stride *= 2
  }
  let above = Math.min(below + stride, high)
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2)
    if (holds(middle)) above = middle
    else below = middle
  }
  return above
}
