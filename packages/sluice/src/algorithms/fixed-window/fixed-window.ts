import { type Algorithm, levelOf, type Numbers } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import { spendPlain } from "./fixed-window-plain.js"
import {
  type FixedWindowTerms,
  type FixedWindowView,
  keep,
  REACH,
  START,
  STOP,
  USED,
} from "./fixed-window-state.js"

/** The one view, as in a bucket. */
const seen: FixedWindowView = {
  now: 0,
  start: 0,
  stop: 0,
  used: 0,
  reach: 0,
  booked: 0,
  opens: 0,
  jumped: false,
}

/**
 * A window lasts from `start` to `stop`; `used` units of it are spent.
 *
 * It may have been opened under another policy (a deploy, a policy given in a call). A grant then moves the end
 * to where the granting policy needs it: by the clock, no sooner than its own window ends; from first use, so that
 * the window is as long as its own. So each policy keeps its bound whoever else counts in the same window.
 *
 * While turns are booked ahead, the window is that of the last turn, and may be yet to open. Windows then follow each
 * other without a gap, and nobody goes before those who wait: what is left of the windows before it is not used.
 */
export const fixedWindow: Algorithm<FixedWindowTerms, Numbers, FixedWindowView> = {
  inNumbers: true,

  terms(policy, cost) {
    if (policy.algorithm !== "fixedWindow") throw new TypeError(`${policy.algorithm} is no fixed window`)
    const { limit, window, align } = policy
    return {
      limit,
      window: window * 1_000,
      aligned: align === "clock" ? 1 : 0,
      // a cost beyond the limit never fits, whatever its size, and debt is no more than the limit
      cost: Math.min(cost, 2 * limit),
    }
  },

  read(terms, cells, cell, now) {
    seen.now = now
    seen.booked = 0
    seen.opens = 0
    seen.jumped = false
    if (cells === undefined || (cells.near[cell + STOP] as number) <= now) {
      seen.start = now
      seen.stop = now
      seen.used = 0
      seen.reach = 0
      return seen
    }
    const { near } = cells
    const reached = near[cell + REACH] as number
    seen.start = near[cell + START] as number
    seen.stop = near[cell + STOP] as number
    seen.used = near[cell + USED] as number
    seen.booked = reached < 0 ? 1 : 0
    seen.reach = reached < 0 ? -1 - reached : reached
    const reach = seen.reach * 1_000
    // further ahead than a window reaches: the clock went back; the window counts as opened now, or as booked now
    if (seen.stop - now > reach + Math.max(terms.window, GRACE)) {
      seen.start = seen.booked === 1 ? now + reach - (seen.stop - seen.start) : now
      seen.stop = now + reach
      seen.jumped = true
    }
    if (seen.booked === 1) seen.opens = Math.max(seen.start - now, 0)
    return seen
  },

  room(terms, view, count) {
    if (view.opens > 0) return 0
    const room = Math.floor((terms.limit - view.used) / terms.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(terms, view, granted, cells, cell, lead = 0) {
    const { window, aligned } = terms
    if (lead > 0 && view.stop === view.now) view.booked = 1
    if (aligned === 1) view.stop = Math.max(view.stop, (Math.floor(view.now / window) + 1) * window)
    else if (view.stop - view.start < window) view.stop = Math.max(view.stop, view.now + window)
    view.reach = Math.max(view.reach, wholeMilliseconds(window + lead))
    view.used += granted * terms.cost
    return keep(view, cells, cell)
  },

  spendPlain,

  turn(terms, view) {
    return this.wait(terms, this.tell(terms, view, true))
  },

  lineWidth: 4,

  line: ({ start, stop, used, booked }) => [start, stop, used, booked],

  restore(_terms, view, line, cells, cell) {
    const [start, stop, used, booked] = line as [number, number, number, 0 | 1]
    if (stop <= view.now) return 0
    view.start = start
    view.stop = stop
    view.used = used
    view.booked = booked
    return keep(view, cells, cell)
  },

  charge(terms, view, maxWait, cells, cell) {
    const { limit, window } = terms
    // opens a window if there is none, with nothing spent
    this.take(terms, view, 0, cells, cell)
    const used = view.used + terms.cost
    if (used <= limit) {
      view.used = used
    } else if (view.stop - view.now <= maxWait + window) {
      view.start = view.stop
      view.stop += window
      view.booked = 1
      view.used = Math.min(used - limit, limit)
      view.reach = Math.max(view.reach, wholeMilliseconds(view.stop - view.now))
    } else {
      view.used = Math.max(view.used, limit)
    }
    return keep(view, cells, cell)
  },

  // a debit of an earlier window is gone with it
  counts: (_terms, view, debitedAt) => debitedAt >= view.start,

  give({ limit, window, cost }, view, _debitedAt, cells, cell) {
    let left = view.used - cost
    if (left <= 0 && view.opens > 0) {
      // nothing is left in a window that is yet to open: the windows before it are full
      const back = Math.min(Math.ceil(view.opens / window), Math.floor(-left / limit) + 1)
      left += back * limit
      view.start -= back * window
      view.stop = view.start + window
    }
    view.used = Math.max(left, 0)
    return view.used > 0 || view.start > view.now ? keep(view, cells, cell) : 0
  },

  mend(_terms, view, cells, cell) {
    return view.jumped ? keep(view, cells, cell) : 0
  },

  tell(_terms, view, short) {
    const left = view.stop - view.now
    return short ? levelOf(view.used, left, view.opens) : levelOf(view.used, left)
  },

  explain(terms, level, allowed = false) {
    const used = level[0] as number
    const left = level[1] as number
    const opens = level[2] ?? 0
    return {
      limit: terms.limit,
      remaining: opens > 0 ? 0 : Math.max(terms.limit - used, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(terms, level)),
      resetAfter: used > 0 ? wholeMilliseconds(left) : 0,
    }
  },

  wait({ limit, cost }, level) {
    const used = level[0] as number
    const left = level[1] as number
    const opens = level[2] ?? 0
    if (cost > limit) return Number.POSITIVE_INFINITY
    return used + cost > limit ? left : opens
  },
}
