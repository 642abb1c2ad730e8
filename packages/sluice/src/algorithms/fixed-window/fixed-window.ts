import type { Algorithm, State, View } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"

export interface FixedWindowParameters {
  readonly limit: number
  readonly window: number
  /** 1: windows start at multiples of their length. 0: with their first use. */
  readonly aligned: 0 | 1
  readonly cost: number
}

/** A window from `start` until it expires, and the units `spent` in it. */
export interface FixedWindowState extends State {
  readonly start: number
  readonly spent: number
  /** The longest window of the policies that granted in it, plus how far ahead it was booked, in milliseconds. */
  readonly reach: number
  /** 1 if the window was booked before it opens. No request is admitted until then. */
  readonly booked: 0 | 1
  /** Units given back in this window. With them, `spent` is a place in the queue that does not move. */
  readonly given: number
}

/** A window at one moment. */
export interface FixedWindowView extends View {
  now: number
  start: number
  stop: number
  spent: number
  reach: number
  booked: 0 | 1
  given: number
  /** Microseconds until it opens, if it was booked. */
  opensIn: number
}

/**
 * Fixed window: grants at most `limit` units per window.
 *
 * Another policy may have opened the window (before a deploy, or a policy given in a call). A grant then moves the end of the
 * window to where the granting policy needs it. So each policy keeps its bound, whoever else counts in the same window.
 *
 * While turns are booked ahead, the stored window is that of the last turn. It may open in the future. Windows then follow each
 * other without a gap. No request overtakes the waiters, so unused units of earlier windows are lost,
 * except those of turns that were given up.
 */
export const fixedWindow: Algorithm<FixedWindowParameters, FixedWindowState, FixedWindowView> = {
  parameters(policy, cost) {
    if (policy.algorithm !== "fixedWindow") throw new TypeError(`${policy.algorithm} is no fixed window`)
    const { limit, window, align } = policy
    return {
      limit,
      window: window * 1_000,
      aligned: align === "clock" ? 1 : 0,
      // A cost beyond the limit never fits, whatever its size, and debt is no more than the limit.
      cost: Math.min(cost, 2 * limit),
    }
  },

  read(parameters, state, now) {
    if (state === undefined || state.expiresAt <= now) {
      return {
        now,
        start: now,
        stop: now,
        spent: 0,
        reach: 0,
        booked: 0,
        given: 0,
        opensIn: 0,
        jumped: false,
        gaps: state?.gaps,
      }
    }
    const { spent, reach, booked, given } = state
    let { start, expiresAt: stop } = state
    // A window further ahead than any request leads means that the clock went back. It counts as opened or booked now.
    const jumped = stop - now > reach * 1_000 + Math.max(parameters.window, GRACE)
    if (jumped) {
      start = booked === 1 ? now + reach * 1_000 - (stop - start) : now
      stop = now + reach * 1_000
    }
    const opensIn = booked === 1 ? Math.max(start - now, 0) : 0
    const gaps = jumped ? undefined : state.gaps
    return { now, start, stop, spent, reach, booked, given, opensIn, jumped, gaps }
  },

  room(parameters, view, count) {
    if (view.opensIn > 0) return 0
    const room = Math.floor((parameters.limit - view.spent) / parameters.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(parameters, view, granted, lead = 0) {
    const { window, aligned } = parameters
    if (view.stop === view.now) {
      if (lead > 0) view.booked = 1
      else view.gaps = undefined
    }
    if (aligned === 1) view.stop = Math.max(view.stop, (Math.floor(view.now / window) + 1) * window)
    else if (view.stop - view.start < window) view.stop = Math.max(view.stop, view.now + window)
    view.reach = Math.max(view.reach, wholeMilliseconds(window + lead))
    view.spent += granted * parameters.cost
    return stateOf(view)
  },

  save: (_parameters, view) => stateOf(view),

  level(_parameters, view, short) {
    const left = view.stop - view.now
    return short ? [view.spent, left, view.opensIn] : [view.spent, left]
  },

  levelUntil: ({ limit, cost }, view, wait) => [limit - cost, view.stop - view.now, wait],

  wait({ limit, cost }, level) {
    const spent = level[0] as number
    const left = level[1] as number
    const opensIn = level[2] ?? 0
    if (cost > limit) return Number.POSITIVE_INFINITY
    return spent + cost > limit ? left : opensIn
  },

  turn(parameters, view) {
    return this.wait(parameters, this.level(parameters, view, true))
  },

  queueWidth: 5,
  queueIdentity: 4,

  queueState: ({ stop, start, spent, booked, given }) => [stop, start, spent + given, booked, given],

  describe: ([stop = 0, start = 0, place = 0, booked = 0, given = 0]) => ({
    opensAt: start / 1_000,
    endsAt: stop / 1_000,
    used: place - given,
    lastTurnAt: (booked * start) / 1_000,
  }),

  restore(_parameters, view, queue) {
    const earlier = windowOf(view, queue)
    return earlier.stop <= view.now ? undefined : stateOf({ ...view, ...earlier })
  },

  front({ window, aligned }, view, queue, [lastStop = 0, lastStart = 0]) {
    const { now } = view
    const front = { ...view, ...windowOf(view, queue) }
    if (front.stop <= now) {
      // Windows follow each other without a gap while turns are booked.
      front.start = now - (aligned === 1 ? now % window : (now - front.stop) % window)
      front.stop = front.start + window
      if (front.stop > lastStart && now < lastStop) {
        // The next window is that of the turn at the back. It opens now, if it was to open later.
        front.start = Math.min(lastStart, now)
        front.stop = lastStop
      }
      front.spent = 0
      front.given = 0
      front.booked = 1
    }
    front.opensIn = front.booked === 1 ? Math.max(front.start - now, 0) : 0
    return front
  },

  isWithin(_parameters, { stop, spent, given }, [lastStop = 0, lastStart = 0, lastPlace = 0]) {
    return stop <= lastStart || (stop === lastStop && spent + given <= lastPlace)
  },

  isOver: ({ now }, backTime) => backTime <= now,

  charge(parameters, view, maxWait) {
    const { limit, window } = parameters
    // Open an empty window if there is none.
    this.take(parameters, view, 0)
    const spent = view.spent + parameters.cost
    if (spent <= limit) {
      view.spent = spent
    } else if (view.stop - view.now <= maxWait + window) {
      view.start = view.stop
      view.stop += window
      view.booked = 1
      view.given = 0
      view.spent = Math.min(spent - limit, limit)
      view.reach = Math.max(view.reach, wholeMilliseconds(view.stop - view.now))
    } else {
      view.spent = Math.max(view.spent, limit)
    }
    return stateOf(view)
  },

  // Units spent in an earlier window are gone with that window.
  counts: (_parameters, view, debitedAt) => debitedAt >= view.start,

  give({ limit, window, cost }, view) {
    let left = view.spent - cost
    if (left <= 0 && view.opensIn > 0) {
      // The booked window is empty again. Move back to the last window that is not: the windows before it are full.
      const back = Math.min(Math.ceil(view.opensIn / window), Math.floor(-left / limit) + 1)
      left += back * limit
      view.start -= back * window
      view.stop = view.start + window
      view.given = 0
    } else view.given += Math.min(cost, view.spent)
    view.spent = Math.max(left, 0)
    // The gaps may lie behind the end of the queue now.
    view.gaps = undefined
    return view.spent > 0 || view.start > view.now ? stateOf(view) : undefined
  },

  spentShare: ({ limit }, { spent, opensIn }) => (opensIn > 0 ? 1 : Math.min(spent / limit, 1)),

  explain(parameters, level, allowed = false) {
    const spent = level[0] as number
    const left = level[1] as number
    const opensIn = level[2] ?? 0
    return {
      limit: parameters.limit,
      window: parameters.window / 1_000,
      remaining: opensIn > 0 ? 0 : Math.max(parameters.limit - spent, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(parameters, level)),
      resetAfter: spent > 0 ? wholeMilliseconds(left) : 0,
    }
  },

  readsAnyCost: true,
  levelBefore: ({ cost }, level, times) => [(level[0] as number) - times * cost, level[1] as number],

  levelLater(_parameters, level, us) {
    const left = level[1] as number
    if (left <= us) return [0, 0, 0]
    return [level[0] as number, left - us, Math.max((level[2] ?? 0) - us, 0)]
  },

  countsInFull: (_parameters, level) => level[1] as number,

  // The windows before a booked window are full.
  unitsSpent({ limit, window }, [spent, , opensIn = 0]) {
    return (spent as number) + limit * Math.ceil(opensIn / window)
  },
}

function stateOf({ start, stop, spent, reach, booked, given, gaps }: FixedWindowView): FixedWindowState {
  return { expiresAt: stop, start, spent, reach, booked, given, gaps }
}

/** The window of an earlier queue state. If it is still the window of the view, less is spent by what was given back since. */
function windowOf(view: FixedWindowView, queue: readonly number[]) {
  const [stop, start, place, booked, then] = queue as [number, number, number, 0 | 1, number]
  const given = stop === view.stop ? view.given : then
  return { stop, start, spent: Math.max(place - given, 0), booked, given }
}
