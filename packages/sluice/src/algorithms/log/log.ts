import type { Algorithm, State } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../../policy.js"

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
export interface LogState extends State {
  expiresAt: number
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
  readonly first: number
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

export const log: Algorithm<LogTerms, LogState, LogView> = {
  lua: "log",
  sent: ["limit", "window", "merge", "cost"],
  width: () => 3,

  terms(policy, cost) {
    const { limit, window, merge } = shape(policy)
    // a cost beyond the limit never fits, whatever its size
    return { limit, window, merge, cost: Math.min(cost, limit + 1) }
  },

  read(terms, stored, now) {
    const state = stored ?? empty()
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

  take(terms, view, granted) {
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
    prune(state, view)
    view.total += granted * terms.cost
    view.last = at
    return state
  },

  give(terms, view) {
    const { state, first, base } = view
    const left = view.total - terms.cost
    if (left <= 0) {
      cutAfter(state, first - 1)
    } else {
      // the newest units go: cut the log after the entry that reaches what is left
      const newest = state.at.length - 1
      const cut = firstThat((entry) => units(nth(state.sum, entry), base) >= left, first, newest)
      cutAfter(state, cut)
      state.sum[cut] = (base + left) % WRAP
    }
    const newest = state.at.length - 1
    state.expiresAt = nth(state.till, newest) * 1_000
    return newest === state.start || state.expiresAt <= view.now ? undefined : state
  },

  mend(_terms, view) {
    return view.jumped ? view.state : undefined
  },

  tell(terms, view, granted) {
    const reset = view.total > 0 ? view.last + terms.window - view.now : 0
    return [view.total, granted ? 0 : wait(terms, view), reset]
  },

  explain(terms, level) {
    const { limit, cost } = terms
    const [total, wait, reset] = level as [number, number, number]
    return {
      limit,
      remaining: Math.max(limit - total, 0),
      retryAfter: cost > limit ? Number.POSITIVE_INFINITY : wholeMilliseconds(wait),
      resetAfter: wholeMilliseconds(reset),
    }
  },
}

/** Microseconds until enough entries have left for the cost to fit. */
function wait(terms: LogTerms, view: LogView): number {
  const { limit, window, cost } = terms
  const excess = view.total + cost - limit
  if (cost > limit || excess <= 0) return 0
  const { at, sum } = view.state
  const leaves = firstThat((entry) => units(nth(sum, entry), view.base) >= excess, view.first, at.length - 1)
  return nth(at, leaves) + window - view.now
}

/** The first entry from `low` on that holds, or `high`; those that hold come after those that do not. */
function firstThat(holds: (entry: number) => boolean, low: number, high: number): number {
  // most often it is the first or near it: double the stride, then halve it
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

/** Clears away entries that count neither here nor under the policy they were granted under. */
function prune(state: LogState, view: LogView): void {
  const most = Math.min(view.first - 1, state.start + PRUNE)
  while (state.start < most && nth(state.till, state.start + 1) * 1_000 <= view.now) state.start += 1
  if (state.start > PRUNE && state.start * 2 > state.at.length) {
    for (const column of [state.at, state.sum, state.till]) column.splice(0, state.start)
    state.start = 0
  }
}

function empty(): LogState {
  return { expiresAt: 0, at: [0], sum: [0], till: [0], start: 0 }
}

function append(state: LogState, at: number, sum: number, till: number): void {
  state.at.push(at)
  state.sum.push(sum)
  state.till.push(till)
  state.expiresAt = till * 1_000
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
