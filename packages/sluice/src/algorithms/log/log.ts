import type { Algorithm } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../../policy.js"
import {
  append,
  columns,
  cutAfter,
  empty,
  firstThat,
  kept,
  type LogParameters,
  type LogState,
  nth,
  prune,
  units,
  WRAP,
} from "./log-state.js"

/** As many entries, at 32 bytes each, take about as much memory as twice the rest of what is stored for a key. */
const ENTRIES_OF_A_STATE = 16

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

export const log: Algorithm<LogParameters, LogState, LogView> = {
  parameters(policy, cost) {
    const { limit, window, merge } = shape(policy)
    // A cost beyond the limit never fits, whatever its size, and debt is no more than the limit.
    return { limit, window, merge, cost: Math.min(cost, 2 * limit) }
  },

  read(parameters, state = empty(), now) {
    const newest = state.at.length - 1
    const last = nth(state.at, newest)
    const sum = nth(state.sum, newest)
    const reach = nth(state.till, newest) * 1_000 - last
    // An entry further ahead than any request leads means that the clock went back. Units that counted before count as spent
    // or booked now.
    const lead = nth(state.lead, newest)
    const jumped = last - now > Math.max(reach, GRACE) + lead * 1_000
    const counts = jumped
      ? (entry: number) => nth(state.till, entry) * 1_000 > last
      : (entry: number) => nth(state.at, entry) + parameters.window > now
    const first = firstThat(counts, state.start + 1, newest + 1)
    const base = nth(state.sum, first - 1)
    const total = units(sum, base)
    if (!jumped) return { now, state, first, base, total, last, booked: lead > 0, jumped }
    const mended = empty()
    const at = now + lead * 1_000
    append(mended, at, total, wholeMilliseconds(at + reach), lead)
    return { now, state: mended, first: 1, base: 0, total, last: at, booked: lead > 0, jumped }
  },

  room(parameters, view, count) {
    if (view.booked && view.last > view.now) return 0
    const room = Math.floor((parameters.limit - view.total) / parameters.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(parameters, view, granted, lead = 0) {
    const { state } = view
    const newest = state.at.length - 1
    // Not before the newest entry, because the log must stay sorted even if the clock went back.
    const at = Math.max(view.now, view.last)
    const sum = (nth(state.sum, newest) + granted * parameters.cost) % WRAP
    const till = Math.max(wholeMilliseconds(at + parameters.window), nth(state.till, newest))
    // An entry of a shorter window is not extended, because its units must not count for longer.
    const ownWindow = nth(state.till, newest) >= wholeMilliseconds(view.last + parameters.window)
    const sameSubWindow = Math.floor(view.last / parameters.merge) === Math.floor(at / parameters.merge)
    if (view.total > 0 && ownWindow && sameSubWindow) cutAfter(state, newest - 1)
    append(state, at, sum, till, wholeMilliseconds(lead))
    view.first = prune(state, view.first, view.now - lead)
    view.total += granted * parameters.cost
    view.last = at
    view.booked = lead > 0
    state.expiresAt = till * 1_000
    return state
  },

  turn(parameters, view) {
    return this.wait(parameters, this.level(parameters, view, true))
  },

  queueWidth: 4,

  queueState({ state }) {
    const newest = state.at.length - 1
    return columns(state).map((column) => nth(column, newest))
  },

  restore(_parameters, { now, state }, queue) {
    const [at, sum, till, lead] = queue as [number, number, number, number]
    const newest = state.at.length - 1
    const base = nth(state.sum, state.start)
    // More units were given back than were spent before the turn. Without the turn, nothing is left.
    const isVoid = units(sum, base) > units(nth(state.sum, newest), base)
    cutAfter(state, newest - 1)
    if (isVoid) return undefined
    // The turn may have been merged into the entry before it.
    if (newest === state.start || nth(state.sum, newest - 1) !== sum) append(state, at, sum, till, lead)
    return kept(state, now)
  },

  charge(parameters, view, maxWait) {
    const { limit, window, cost } = parameters
    const { now, state } = view
    const one = { ...parameters, cost: 1 }
    const fits = this.room(one, view, cost)
    // Units that fit are spent now, the rest at its turn ahead.
    if (fits > 0) this.take(one, view, fits)
    else state.expiresAt = nth(state.till, state.till.length - 1) * 1_000
    const owed = { ...parameters, cost: Math.min(cost - fits, limit) }
    const wait = this.turn(owed, this.read(owed, state, now))
    if (owed.cost > 0 && wait <= maxWait + window) {
      this.take(owed, this.read(owed, state, now + wait), 1, wait)
    }
    return state
  },

  counts: (parameters, view, debitedAt) => debitedAt + parameters.window > view.now,

  give(parameters, view, debitedAt) {
    if (debitedAt === undefined) giveNewest(parameters, view)
    else giveOldest(parameters, view)
    return kept(view.state, view.now)
  },

  mend: (_parameters, { jumped, state, now }) => (jumped ? kept(state, now) : undefined),

  spentShare: ({ limit }, { total, booked, last, now }) =>
    booked && last > now ? 1 : Math.min(total / limit, 1),

  weight: ({ at }) => 1 + Math.floor(at.length / ENTRIES_OF_A_STATE),

  level(parameters, view, short) {
    const reset = view.total > 0 ? view.last + parameters.window - view.now : 0
    return short ? [view.total, reset, untilEnoughLeft(parameters, view)] : [view.total, reset]
  },

  explain(parameters, level, allowed = false) {
    const total = level[0] as number
    const reset = level[1] as number
    return {
      limit: parameters.limit,
      window: parameters.window / 1_000,
      // A cost that would fit but has to wait is behind a booked turn.
      remaining:
        total + parameters.cost <= parameters.limit && (level[2] ?? 0) > 0
          ? 0
          : Math.max(parameters.limit - total, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(parameters, level)),
      resetAfter: wholeMilliseconds(reset),
    }
  },

  wait: ({ limit, cost }, level) => (cost > limit ? Number.POSITIVE_INFINITY : (level[2] ?? 0)),

  // Another cost waits for another entry to expire.
  readsAnyCost: false,
  levelBefore: ({ cost }, level, times) => [(level[0] as number) - times * cost, level[1] as number],

  // It is unknown which entries have expired meanwhile, so the total stays as it was.
  levelLater(_parameters, level, us) {
    const later = (time: number) => Math.max(time - us, 0)
    return [level[0] as number, ...level.slice(1).map(later)]
  },

  countsInFull: ({ window }) => window,
  unitsSpent: (_parameters, level) => level[0] as number,
}

/** Removes the newest units: cuts the log after the entry that reaches the rest. */
function giveNewest({ cost }: LogParameters, { state, first, base, total }: LogView): void {
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
 * Removes the oldest units that count. The entry of the spend is unknown, and the oldest units expire no later than its units.
 * If another policy still needs older entries, nothing is removed.
 */
function giveOldest({ cost }: LogParameters, view: LogView): void {
  const { now, state, first, base, total } = view
  // No entry counts for longer than a later one.
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

/** Microseconds until enough entries have expired for the cost to fit, and all booked turns have passed. */
function untilEnoughLeft(parameters: LogParameters, view: LogView): number {
  const { limit, window, cost } = parameters
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
