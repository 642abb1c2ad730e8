import type { Algorithm } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../../policy.js"
import { firstThat } from "./first-that.js"

/**
 * The sliding log, and the sliding window as the same log merged.
 *
 * Every grant is an entry with its time and the running total of all units up to it, so that the units of
 * any stretch of the log are one subtraction and nothing can disagree. An entry counts while
 * `at + window > now`. Grants that fall into one sub-window of `merge` microseconds share an entry, which
 * takes the time of its newest unit; for the log itself `merge` is 1.
 *
 * The oldest entry is a base: the running total before the entries that follow.
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
  start: number
}

export interface LogView {
  readonly now: number
  readonly state: LogState
  /** Position of the first entry that counts. */
  first: number
  /** Running total before it. */
  readonly base: number
  /** Units that count. */
  total: number
  /** Time of the newest entry. */
  last: number
  readonly jumped: boolean
}

/** Running totals are kept modulo this, far more than the limit of any one policy. */
const WRAP = 2 ** 48
/** How many entries that no longer count one grant clears away. */
const PRUNE = 32

export const log: Algorithm<LogTerms, LogState[], LogView> = {
  lua: "log",
  inNumbers: false,

  terms(policy, cost) {
    const { limit, window, merge } = shape(policy)
    // a cost beyond the limit never fits, whatever its size
    return { limit, window, merge, cost: Math.min(cost, limit + 1) }
  },

  sent: ({ limit, window, merge, cost }) => ({ limit, window, merge, cost }),

  read(terms, cells, cell, now) {
    const state = cells?.[cell] ?? empty()
    const newest = state.at.length - 1
    const last = nth(state.at, newest)
    const sum = nth(state.sum, newest)
    const reach = nth(state.till, newest) * 1_000 - last
    // further ahead than a window reaches: the clock went back; what counted then counts as spent now
    const jumped = last - now > Math.max(reach, GRACE)
    const counts = jumped
      ? (entry: number) => nth(state.till, entry) * 1_000 > last
      : (entry: number) => nth(state.at, entry) + terms.window > now
    const first = firstThat(counts, state.start + 1, newest + 1)
    const base = nth(state.sum, first - 1)
    const total = units(sum, base)
    if (!jumped) return { now, state, first, base, total, last, jumped }
    const mended = empty()
    append(mended, now, total, wholeMilliseconds(now + reach))
    return { now, state: mended, first: 1, base: 0, total, last: now, jumped }
  },

  room(terms, view, count) {
    const room = Math.floor((terms.limit - view.total) / terms.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(terms, view, granted, cells, cell) {
    const { state } = view
    const newest = state.at.length - 1
    // never before the newest entry, or a clock that went back would unsort the log
    const at = Math.max(view.now, view.last)
    const sum = (nth(state.sum, newest) + granted * terms.cost) % WRAP
    const till = Math.max(wholeMilliseconds(at + terms.window), nth(state.till, newest))
    // an entry of a shorter window stays as it is: its units must not be held for longer
    const ownWindow = nth(state.till, newest) >= wholeMilliseconds(view.last + terms.window)
    const sameSubWindow = Math.floor(view.last / terms.merge) === Math.floor(at / terms.merge)
    if (view.total > 0 && ownWindow && sameSubWindow) cutAfter(state, newest - 1)
    append(state, at, sum, till)
    prune(view)
    view.total += granted * terms.cost
    view.last = at
    cells[cell] = state
    return till * 1_000
  },

  counts: (terms, view, debitedAt) => debitedAt + terms.window > view.now,

  give(terms, view, debitedAt, cells, cell) {
    const { state } = view
    if (debitedAt === undefined) giveNewest(terms, view)
    else giveOldest(terms, view)
    const newest = state.at.length - 1
    const expiresAt = nth(state.till, newest) * 1_000
    cells[cell] = state
    return newest === state.start || expiresAt <= view.now ? 0 : expiresAt
  },

  mend(_terms, view, cells, cell) {
    if (!view.jumped) return 0
    cells[cell] = view.state
    return nth(view.state.till, view.state.till.length - 1) * 1_000
  },

  width: (_terms, short) => (short ? 3 : 2),

  tell(terms, view, short) {
    const reset = view.total > 0 ? view.last + terms.window - view.now : 0
    return short ? [view.total, reset, untilEnoughLeft(terms, view)] : [view.total, reset]
  },

  explain(terms, level, allowed = false) {
    const total = level[0] as number
    const reset = level[1] as number
    return {
      limit: terms.limit,
      remaining: Math.max(terms.limit - total, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(terms, level)),
      resetAfter: wholeMilliseconds(reset),
    }
  },

  wait: ({ limit, cost }, [, , wait = 0]) => (cost > limit ? Number.POSITIVE_INFINITY : wait),

  // another cost waits for another entry to leave
  anyCost: false,

  before: ({ cost }, [total, reset], times) => [(total as number) - times * cost, reset as number],

  // which entries have left meanwhile is not known: the total stays as it was
  later: (_terms, [total, ...times], us) => [total as number, ...times.map((time) => Math.max(time - us, 0))],

  holds: ({ window }) => window,
}

/** The newest units go: the log is cut after the entry that reaches what is left. */
function giveNewest({ cost }: LogTerms, { state, first, base, total }: LogView): void {
  const left = total - cost
  if (left <= 0) {
    cutAfter(state, first - 1)
    return
  }
  const cut = firstThat((entry) => units(nth(state.sum, entry), base) >= left, first, state.at.length - 1)
  cutAfter(state, cut)
  state.sum[cut] = (base + left) % WRAP
}

/**
 * The oldest units that count go: they leave no later than those of the debit, whose place in the log is not looked
 * for. Where another policy still looks back at older entries, nothing goes.
 */
function giveOldest({ cost }: LogTerms, view: LogView): void {
  const { state, base, total } = view
  prune(view)
  if (view.first - 1 > state.start) return
  const newest = state.at.length - 1
  if (cost >= total) {
    state.start = newest
    return
  }
  const cut = firstThat((entry) => units(nth(state.sum, entry), base) >= cost, view.first, newest)
  const sum = (base + cost) % WRAP
  state.start = nth(state.sum, cut) === sum ? cut : cut - 1
  state.sum[state.start] = sum
}

/** Microseconds until enough entries have left for the cost to fit. */
function untilEnoughLeft(terms: LogTerms, view: LogView): number {
  const { limit, window, cost } = terms
  const excess = view.total + cost - limit
  if (cost > limit || excess <= 0) return 0
  const { at, sum } = view.state
  const leaves = firstThat((entry) => units(nth(sum, entry), view.base) >= excess, view.first, at.length - 1)
  return nth(at, leaves) + window - view.now
}

/** Clears away entries that count neither here nor under the policy they were granted under. */
function prune(view: LogView): void {
  const { state } = view
  const most = Math.min(view.first - 1, state.start + PRUNE)
  while (state.start < most && nth(state.till, state.start + 1) * 1_000 <= view.now) state.start += 1
  if (state.start > PRUNE && state.start * 2 > state.at.length) {
    for (const column of [state.at, state.sum, state.till]) column.splice(0, state.start)
    view.first -= state.start
    state.start = 0
  }
}

function empty(): LogState {
  return { at: [0], sum: [0], till: [0], start: 0 }
}

function append(state: LogState, at: number, sum: number, till: number): void {
  state.at.push(at)
  state.sum.push(sum)
  state.till.push(till)
}

function cutAfter({ at, sum, till }: LogState, entry: number): void {
  for (const column of [at, sum, till]) column.length = entry + 1
}

/** Units between two running totals. */
function units(sum: number, base: number): number {
  return (sum - base + WRAP) % WRAP
}

function nth(column: readonly number[], entry: number): number {
  return column[entry] as number
}

function shape(policy: Policy): { limit: number; window: number; merge: number } {
  if (policy.algorithm === "slidingLog") {
    return { limit: policy.limit, window: policy.window * 1_000, merge: 1 }
  }
  if (policy.algorithm === "slidingWindow") {
    const window = policy.window * 1_000
    return { limit: policy.limit, window, merge: Math.ceil(window / policy.buckets) }
  }
  throw new TypeError(`${policy.algorithm} is no log`)
}
