import type { Algorithm, View } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../registry.js"
import {
  append,
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

export interface LogView extends View {
  readonly now: number
  readonly state: LogState
  /** Position of the first entry that counts. */
  first: number
  /** Running total before it. */
  readonly base: number
  /** Units that count. */
  spent: number
  /** Time of the newest entry, and whether it was booked. */
  last: number
  booked: boolean
  /** Set in the front of a gap. */
  readonly gap?: LogGap
}

/**
 * How a gap is filled. Units that are admitted in it count until the last of them expires, in addition to the `real` units
 * before the gap. The entries of its turns stay in the log. Near the end of the gap they stand for what is admitted: each unit for one of
 * theirs that comes no earlier. So no turn behind the gap is affected.
 */
interface LogGap {
  /** Time, running total, `till` and `lead` of the newest entry before the gap. */
  readonly base: Entry
  /** The same of all that was admitted in the gap, as one entry behind that. */
  used: Entry
  readonly real: number
  /** The running total up to which the entries in the gap are taken. */
  taken: number
}

type Entry = readonly [at: number, sum: number, till: number, lead: number]

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
    const spent = units(sum, base)
    if (!jumped) return { now, state, first, base, spent, last, booked: lead > 0, jumped, gaps: state.gaps }
    const repaired = empty()
    const at = now + lead * 1_000
    append(repaired, at, spent, wholeMilliseconds(at + reach), lead)
    const booked = lead > 0
    return { now, state: repaired, first: 1, base: 0, spent, last: at, booked, jumped, gaps: undefined }
  },

  room(parameters, view, count) {
    if (view.booked && view.last > view.now) return 0
    const room = Math.floor((parameters.limit - view.spent) / parameters.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(parameters, view, granted, lead = 0) {
    const { state, gap } = view
    if (gap !== undefined) {
      takeInGap(parameters, view, gap, granted * parameters.cost, lead)
      return state
    }
    const newest = state.at.length - 1
    // Not before the newest entry, because the log must stay sorted even if the clock went back.
    const at = Math.max(view.now, view.last)
    const sum = (nth(state.sum, newest) + granted * parameters.cost) % WRAP
    const till = Math.max(wholeMilliseconds(at + parameters.window), nth(state.till, newest))
    // An entry of a shorter window is not extended, because its units must not count for longer.
    const ownWindow = nth(state.till, newest) >= wholeMilliseconds(view.last + parameters.window)
    const sameSubWindow = Math.floor(view.last / parameters.merge) === Math.floor(at / parameters.merge)
    if (view.spent > 0 && ownWindow && sameSubWindow) cutAfter(state, newest - 1)
    append(state, at, sum, till, wholeMilliseconds(lead))
    // No turn is booked any more.
    if (lead === 0) state.gaps = undefined
    view.first = prune(state, view.first, view.now - lead)
    view.spent += granted * parameters.cost
    view.last = at
    view.booked = lead > 0
    state.expiresAt = till * 1_000
    return state
  },

  save(_parameters, { state, gaps }) {
    keepGaps(state, gaps)
    state.expiresAt = newestOf(state)[2] * 1_000
    return state
  },

  level(parameters, view, short) {
    const reset = view.spent > 0 ? view.last + parameters.window - view.now : 0
    return short ? [view.spent, reset, untilEnoughLeft(parameters, view)] : [view.spent, reset]
  },

  levelUntil(parameters, view, wait) {
    return [...this.level(parameters, view, false), wait]
  },

  wait: ({ limit, cost }, level) => (cost > limit ? Number.POSITIVE_INFINITY : (level[2] ?? 0)),

  turn(parameters, view) {
    return this.wait(parameters, this.level(parameters, view, true))
  },

  queueWidth: 9,
  queueIdentity: 2,

  queueState({ state, gap }) {
    if (gap !== undefined) return [...gap.used, ...gap.base, gap.taken]
    const newest = newestOf(state)
    return [...newest, ...newest, newest[1]]
  },

  describe: ([at = 0, total = 0, till = 0, lead = 0]) => ({
    newestAt: at / 1_000,
    total,
    neededUntil: till,
    lastTurnAt: lead > 0 ? at / 1_000 : 0,
  }),

  restore(_parameters, { now, state, gaps }, queue) {
    const [used, base] = entriesIn(queue)
    const start = nth(state.sum, state.start)
    const newest = state.at.length - 1
    const left = units(base[1], start)
    // More units were given back, or have expired, than were spent before the turn.
    const isVoid = left > units(nth(state.sum, newest), start)
    const cut =
      firstThat((i) => isVoid || units(nth(state.sum, i), start) > left, state.start + 1, newest) - 1
    cutAfter(state, cut)
    // The turn may have been merged into the entry before it.
    if (!isVoid && nth(state.sum, cut) !== base[1]) append(state, ...base)
    const [at, sum, till, lead] = used
    const more = units(sum, base[1])
    if (more > 0) append(state, at, isVoid ? (start + more) % WRAP : sum, till, lead)
    keepGaps(state, gaps)
    return kept(state, now)
  },

  front({ window }, view, queue) {
    const [used, base] = entriesIn(queue)
    const real = Math.max(view.spent - units(newestOf(view.state)[1], base[1]), 0)
    const counting = used[0] + window > view.now ? units(used[1], base[1]) : 0
    const gap = { base, used, real, taken: counting > 0 ? (queue[8] as number) : base[1] }
    return { ...view, spent: real + counting, last: used[0], booked: true, gap }
  },

  isWithin({ window }, { gap }, back) {
    const [behind, before] = entriesIn(back)
    if (gap === undefined) return false
    const { base, used, taken } = gap
    if (behind[1] !== before[1]) {
      // The turn at the back was itself admitted in a gap. Each unit replaces one of its units, no later.
      const isSameGap = before[1] === base[1]
      return isSameGap && used[0] <= behind[0] && units(used[1], base[1]) <= units(behind[1], base[1])
    }
    return used[0] + window < behind[0] || units(taken, base[1]) <= units(behind[1], base[1])
  },

  isOver: ({ now }, backTime) => backTime < now,

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

  // While the queue has a gap, nothing is given back, because the gap cannot say whose units they were.
  counts(parameters, view, debitedAt) {
    const lastGap = view.gaps?.at(-1)
    const hasGap = lastGap !== undefined && !this.isOver(view, lastGap.back[0] as number)
    return debitedAt + parameters.window > view.now && !hasGap
  },

  give(parameters, view, debitedAt) {
    // The gaps may lie behind the end of the queue then.
    view.state.gaps = undefined
    if (debitedAt === undefined) giveNewest(parameters, view)
    else giveOldest(parameters, view)
    return kept(view.state, view.now)
  },

  spentShare: ({ limit }, { spent, booked, last, now }) =>
    booked && last > now ? 1 : Math.min(spent / limit, 1),

  weight: ({ at }) => 1 + Math.floor(at.length / ENTRIES_OF_A_STATE),

  explain(parameters, level, allowed = false) {
    const spent = level[0] as number
    const reset = level[1] as number
    return {
      limit: parameters.limit,
      window: parameters.window / 1_000,
      // A cost that would fit but has to wait is behind a booked turn.
      remaining:
        spent + parameters.cost <= parameters.limit && (level[2] ?? 0) > 0
          ? 0
          : Math.max(parameters.limit - spent, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(parameters, level)),
      resetAfter: wholeMilliseconds(reset),
    }
  },

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

/** Admits the cost in a gap: in place of units of the gap that come now or later. */
function takeInGap(
  { window }: LogParameters,
  view: LogView,
  gap: LogGap,
  amount: number,
  lead: number,
): void {
  const { now, state } = view
  const newest = state.at.length - 1
  const next = firstThat((entry) => nth(state.at, entry) >= now, state.start + 1, newest + 1)
  const before = nth(state.sum, next - 1)
  const total = nth(state.sum, newest)
  const from = units(total, before) < units(total, gap.taken) ? before : gap.taken
  gap.taken = (from + amount) % WRAP
  view.spent += amount
  view.last = now
  const till = Math.max(gap.base[2], wholeMilliseconds(now + window))
  gap.used = [now, (gap.base[1] + view.spent - gap.real) % WRAP, till, wholeMilliseconds(lead)]
}

/** Gaps are kept with the last booked turn. */
function keepGaps(state: LogState, gaps: LogView["gaps"]): void {
  state.gaps = newestOf(state)[3] > 0 ? gaps : undefined
}

function newestOf(state: LogState): Entry {
  const newest = state.at.length - 1
  return [nth(state.at, newest), nth(state.sum, newest), nth(state.till, newest), nth(state.lead, newest)]
}

/** The two entries of a queue state. They are the same if nothing was admitted in a gap. */
function entriesIn(queue: readonly number[]): [used: Entry, base: Entry] {
  return [queue.slice(0, 4) as unknown as Entry, queue.slice(4, 8) as unknown as Entry]
}

/** Removes the newest units: cuts the log after the entry that reaches the rest. */
function giveNewest({ cost }: LogParameters, { state, first, base, spent }: LogView): void {
  const left = spent - cost
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
  const { now, state, first, base, spent } = view
  // No entry counts for longer than a later one.
  if (first - 1 > state.start && nth(state.till, first - 1) * 1_000 > now) return
  state.start = first - 1
  const newest = state.at.length - 1
  if (cost >= spent) {
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
  const excess = view.spent + cost - limit
  if (cost > limit || excess <= 0) return turns
  if (view.gap !== undefined && excess > view.gap.real) {
    return Math.max(view.last + window - view.now, turns)
  }
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
