import { type Algorithm, levelOf } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../../policy.js"
import { firstThat } from "./first-that.js"
import { spendPlain } from "./log-plain.js"
import {
  append,
  columns,
  cutAfter,
  empty,
  type LogState,
  type LogTerms,
  nth,
  prune,
  units,
  WRAP,
} from "./log-state.js"

export interface LogView {
  readonly now: number
  readonly state: LogState
  /** Position of the first entry that counts. */
  first: number
  /** Running total before it. */
  readonly base: number
  /** Units that count. */
  total: number
  /** Time of the newest entry, and whether it was booked. */
  last: number
  booked: boolean
  readonly jumped: boolean
}

export const log: Algorithm<LogTerms, LogState[], LogView> = {
  inNumbers: false,

  terms(policy, cost) {
    const { limit, window, merge } = shape(policy)
    // a cost beyond the limit never fits, whatever its size, and debt is no more than the limit
    return { limit, window, merge, cost: Math.min(cost, 2 * limit) }
  },

  read(terms, cells, cell, now) {
    const state = cells?.[cell] ?? empty()
    const newest = state.at.length - 1
    const last = nth(state.at, newest)
    const sum = nth(state.sum, newest)
    const reach = nth(state.till, newest) * 1_000 - last
    // further ahead than a window reaches: the clock went back; what counted then counts as spent or booked now
    const lead = nth(state.lead, newest)
    const jumped = last - now > Math.max(reach, GRACE) + lead * 1_000
    const counts = jumped
      ? (entry: number) => nth(state.till, entry) * 1_000 > last
      : (entry: number) => nth(state.at, entry) + terms.window > now
    const first = firstThat(counts, state.start + 1, newest + 1)
    const base = nth(state.sum, first - 1)
    const total = units(sum, base)
    if (!jumped) return { now, state, first, base, total, last, booked: lead > 0, jumped }
    const mended = empty()
    const at = now + lead * 1_000
    append(mended, at, total, wholeMilliseconds(at + reach), lead)
    return { now, state: mended, first: 1, base: 0, total, last: at, booked: lead > 0, jumped }
  },

  room(terms, view, count) {
    if (view.booked && view.last > view.now) return 0
    const room = Math.floor((terms.limit - view.total) / terms.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(terms, view, granted, cells, cell, lead = 0) {
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
    append(state, at, sum, till, wholeMilliseconds(lead))
    view.first = prune(state, view.first, view.now - lead)
    view.total += granted * terms.cost
    view.last = at
    view.booked = lead > 0
    cells[cell] = state
    return till * 1_000
  },

  spendPlain,

  turn(terms, view) {
    return this.wait(terms, this.tell(terms, view, true))
  },

  lineWidth: 4,

  line({ state }) {
    const newest = state.at.length - 1
    return columns(state).map((column) => nth(column, newest))
  },

  restore(_terms, { now, state }, line, cells, cell) {
    const [at, sum, till, lead] = line as [number, number, number, number]
    const newest = state.at.length - 1
    const base = nth(state.sum, state.start)
    // more was given back than had been spent before the turn: nothing is left without it
    const isVoid = units(sum, base) > units(nth(state.sum, newest), base)
    cutAfter(state, newest - 1)
    if (isVoid) return 0
    // the last turn may have been merged into the entry before it
    if (newest === state.start || nth(state.sum, newest - 1) !== sum) append(state, at, sum, till, lead)
    cells[cell] = state
    return state.at.length - 1 === state.start || till * 1_000 <= now ? 0 : till * 1_000
  },

  charge(terms, view, maxWait, cells, cell) {
    const { limit, window, cost } = terms
    const { now } = view
    const one = { ...terms, cost: 1 }
    const fits = this.room(one, view, cost)
    // what fits is spent now, the rest at the turn that it would have had
    let until =
      fits > 0
        ? this.take(one, view, fits, cells, cell)
        : nth(view.state.till, view.state.till.length - 1) * 1_000
    cells[cell] = view.state
    const owed = { ...terms, cost: Math.min(cost - fits, limit) }
    const wait = this.turn(owed, this.read(owed, cells, cell, now))
    if (owed.cost > 0 && wait <= maxWait + window) {
      until = this.take(owed, this.read(owed, cells, cell, now + wait), 1, cells, cell, wait)
    }
    return until
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

  tell(terms, view, short) {
    const reset = view.total > 0 ? view.last + terms.window - view.now : 0
    return short ? levelOf(view.total, reset, untilEnoughLeft(terms, view)) : levelOf(view.total, reset)
  },

  explain(terms, level, allowed = false) {
    const total = level[0] as number
    const reset = level[1] as number
    return {
      limit: terms.limit,
      // what would fit but has to wait is behind a turn that is booked
      remaining:
        total + terms.cost <= terms.limit && (level[2] ?? 0) > 0 ? 0 : Math.max(terms.limit - total, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(terms, level)),
      resetAfter: wholeMilliseconds(reset),
    }
  },

  wait: ({ limit, cost }, level) => (cost > limit ? Number.POSITIVE_INFINITY : (level[2] ?? 0)),
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
  const { now, state, first, base, total } = view
  // none matters for longer than those after it
  if (first - 1 > state.start && nth(state.till, first - 1) * 1_000 > now) return
  state.start = first - 1
  const newest = state.at.length - 1
  if (cost >= total) {
    state.start = newest
    return
  }
  const cut = firstThat((entry) => units(nth(state.sum, entry), base) >= cost, first, newest)
  const sum = (base + cost) % WRAP
  state.start = nth(state.sum, cut) === sum ? cut : cut - 1
  state.sum[state.start] = sum
}

/** Microseconds until enough entries have left for the cost to fit, and no turn is before it. */
function untilEnoughLeft(terms: LogTerms, view: LogView): number {
  const { limit, window, cost } = terms
  const turns = view.booked ? Math.max(view.last - view.now, 0) : 0
  const excess = view.total + cost - limit
  if (cost > limit || excess <= 0) return turns
  const { at, sum } = view.state
  const leaves = firstThat((entry) => units(nth(sum, entry), view.base) >= excess, view.first, at.length - 1)
  return Math.max(nth(at, leaves) + window - view.now, turns)
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
