/**
 * The sliding log, and the sliding window as the same log merged.
 *
 * Every grant is an entry with its time and the running total of all units up to it, so that the units of
 * any stretch of the log are one subtraction and nothing can disagree. An entry counts while
 * `at + window > now`. Grants that fall into one sub-window of `merge` microseconds share an entry, which
 * takes the time of its newest unit; for the log itself `merge` is 1.
 *
 * The oldest entry is a base: the running total before the entries that follow.
 *
 * A booked turn is an entry with a time to come. Until then nobody goes before it.
 */
export interface LogTerms {
  readonly limit: number
  readonly window: number
  readonly merge: number
  readonly cost: number
}

/** Entries are columns, the base at position `start`. */
export interface LogState {
  readonly at: number[]
  readonly sum: number[]
  /** The millisecond until which a policy that granted it, or one before it, looks back at an entry. */
  readonly till: number[]
  /** Milliseconds by which an entry was ahead of the clock when it was booked; 0 if it was not. */
  readonly lead: number[]
  start: number
}

/** Running totals are kept modulo this, far more than the limit of any one policy. */
export const WRAP = 2 ** 48
/** How many entries that no longer count one grant clears away. */
const PRUNE = 32

/**
 * Clears away entries before the first that counts, unless the policy that they were granted under still looks at them.
 * Where that first one is then.
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
  return { at: [0], sum: [0], till: [0], lead: [0], start: 0 }
}

export function append(state: LogState, at: number, sum: number, till: number, lead: number): void {
  state.at.push(at)
  state.sum.push(sum)
  state.till.push(till)
  state.lead.push(lead)
}

export function cutAfter(state: LogState, entry: number): void {
  for (const column of columns(state)) column.length = entry + 1
}

export function columns({ at, sum, till, lead }: LogState): number[][] {
  return [at, sum, till, lead]
}

/** Units between two running totals. */
export function units(sum: number, base: number): number {
  return (sum - base + WRAP) % WRAP
}

export function nth(column: readonly number[], entry: number): number {
  return column[entry] as number
}
