import type { Algorithm, State, View } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"

export interface FixedWindowParameters {
  readonly limit: number
  readonly window: number
  /** 1: windows start at multiples of their length. 0: with their first use. */
  readonly aligned: 0 | 1
  readonly cost: number
}

/** A window from `start` until it expires, with `used` units spent. */
export interface FixedWindowState extends State {
  readonly start: number
  readonly used: number
  /** The longest window of the policies that granted in it, plus how far ahead it was booked, in milliseconds. */
  readonly reach: number
  /** 1 if the window was booked before it opens. No request is admitted until then. */
  readonly booked: 0 | 1
}

/** A window at one moment. */
export interface FixedWindowView extends View {
  now: number
  start: number
  stop: number
  used: number
  reach: number
  booked: 0 | 1
  /** Microseconds until it opens, if it was booked. */
  opens: number
}

/**
 * Fixed window: grants at most `limit` units per window.
 *
 * Another policy may have opened the window (before a deploy, or a policy given in a call). A grant then moves the end of the
 * window to where the granting policy needs it. So each policy keeps its bound, whoever else counts in the same window.
 *
 * While turns are booked ahead, the stored window is that of the last turn. It may open in the future. Windows then follow each
 * other without a gap. No request overtakes the waiters, so unused units of earlier windows are lost.
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
        used: 0,
        reach: 0,
        booked: 0,
        opens: 0,
        jumped: false,
        gaps: state?.gaps,
      }
    }
    const { used, reach, booked } = state
    let { start, expiresAt: stop } = state
    // A window further ahead than any request leads means that the clock went back. It counts as opened or booked now.
    const jumped = stop - now > reach * 1_000 + Math.max(parameters.window, GRACE)
    if (jumped) {
      start = booked === 1 ? now + reach * 1_000 - (stop - start) : now
      stop = now + reach * 1_000
    }
    const opens = booked === 1 ? Math.max(start - now, 0) : 0
    const gaps = jumped ? undefined : state.gaps
    return { now, start, stop, used, reach, booked, opens, jumped, gaps }
  },

  room(parameters, view, count) {
    if (view.opens > 0) return 0
    const room = Math.floor((parameters.limit - view.used) / parameters.cost)
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
    view.used += granted * parameters.cost
    return stateOf(view)
  },

  save: (_parameters, view) => stateOf(view),

  level(_parameters, view, short) {
    const left = view.stop - view.now
    return short ? [view.used, left, view.opens] : [view.used, left]
  },

  levelUntil: ({ limit, cost }, view, wait) => [limit - cost, view.stop - view.now, wait],

  wait({ limit, cost }, level) {
    const used = level[0] as number
    const left = level[1] as number
    const opens = level[2] ?? 0
    if (cost > limit) return Number.POSITIVE_INFINITY
    return used + cost > limit ? left : opens
  },

  turn(parameters, view) {
    return this.wait(parameters, this.level(parameters, view, true))
  },

  queueWidth: 4,
  queueIdentity: 4,

  queueState: ({ stop, start, used, booked }) => [stop, start, used, booked],

  restore(_parameters, view, queue) {
    const [stop, start, used, booked] = queue as [number, number, number, 0 | 1]
    if (stop <= view.now) return undefined
    return stateOf({ ...view, start, stop, used, booked })
  },

  front({ window }, view, queue) {
    const { now } = view
    let [stop, start, used, booked] = queue as [number, number, number, 0 | 1]
    if (stop <= now) {
      // Windows follow each other without a gap while turns are booked.
      start = now - ((now - stop) % window)
      stop = start + window
      used = 0
      booked = 1
    }
    const opens = booked === 1 ? Math.max(start - now, 0) : 0
    return { ...view, start, stop, used, booked, opens }
  },

  isWithin(_parameters, { start, stop, used }, [lastStop, lastStart, mostUsed]) {
    if (stop <= (lastStart as number)) return true
    return start === lastStart && stop === lastStop && used <= (mostUsed as number)
  },

  isOver: ({ now }, backTime) => backTime <= now,

  charge(parameters, view, maxWait) {
    const { limit, window } = parameters
    // Open an empty window if there is none.
    this.take(parameters, view, 0)
    const used = view.used + parameters.cost
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
    return stateOf(view)
  },

  // Units spent in an earlier window are gone with that window.
  counts: (_parameters, view, debitedAt) => debitedAt >= view.start,

  give({ limit, window, cost }, view) {
    let left = view.used - cost
    if (left <= 0 && view.opens > 0) {
      // The booked window is empty again. Move back to the last window that is not: the windows before it are full.
      const back = Math.min(Math.ceil(view.opens / window), Math.floor(-left / limit) + 1)
      left += back * limit
      view.start -= back * window
      view.stop = view.start + window
    }
    view.used = Math.max(left, 0)
    // The gaps may lie behind the end of the queue now.
    view.gaps = undefined
    return view.used > 0 || view.start > view.now ? stateOf(view) : undefined
  },

  spentShare: ({ limit }, { used, opens }) => (opens > 0 ? 1 : Math.min(used / limit, 1)),

  explain(parameters, level, allowed = false) {
    const used = level[0] as number
    const left = level[1] as number
    const opens = level[2] ?? 0
    return {
      limit: parameters.limit,
      window: parameters.window / 1_000,
      remaining: opens > 0 ? 0 : Math.max(parameters.limit - used, 0),
      retryAfter: allowed ? 0 : wholeMilliseconds(this.wait(parameters, level)),
      resetAfter: used > 0 ? wholeMilliseconds(left) : 0,
    }
  },

  name: "fixed_window",
  luaParameters: ({ limit, window, aligned }) => ({ limit, window, aligned }),
  work: 4,
  levelWidth: (_parameters, short) => (short ? 3 : 2),
  readsAnyCost: true,
  levelBefore: ({ cost }, level, times) => [(level[0] as number) - times * cost, level[1] as number],

  levelLater(_parameters, level, us) {
    const left = level[1] as number
    if (left <= us) return [0, 0, 0]
    return [level[0] as number, left - us, Math.max((level[2] ?? 0) - us, 0)]
  },

  countsInFull: (_parameters, level) => level[1] as number,

  // The windows before a booked window are full.
  unitsSpent({ limit, window }, [used, , opens = 0]) {
    return (used as number) + limit * Math.ceil(opens / window)
  },
}

function stateOf({ start, stop, used, reach, booked, gaps }: FixedWindowView): FixedWindowState {
  return { expiresAt: stop, start, used, reach, booked, gaps }
}
