import type { Algorithm, State } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"

/**
 * A window lasts from `start` to `stop`; `used` units of it are spent.
 *
 * It may have been opened under another policy (a deploy, a policy given in a call). A grant then moves the end
 * to where the granting policy needs it: by the clock, no sooner than its own window ends; from first use, so that
 * the window is as long as its own. So each policy keeps its bound whoever else counts in the same window.
 */
export interface FixedWindowTerms {
  readonly limit: number
  readonly window: number
  /** 1: windows are cut at multiples of their length; 0: they open with their first use. */
  readonly aligned: 0 | 1
  readonly cost: number
}

export interface FixedWindowState extends State {
  readonly start: number
  readonly stop: number
  readonly used: number
  /** Milliseconds: the longest window of the policies that granted in it. */
  readonly reach: number
}

export interface FixedWindowView {
  readonly now: number
  readonly start: number
  stop: number
  used: number
  reach: number
  readonly jumped: boolean
}

export const fixedWindow: Algorithm<FixedWindowTerms, FixedWindowState, FixedWindowView> = {
  lua: "fixedWindow",

  terms(policy, cost) {
    if (policy.algorithm !== "fixedWindow") throw new TypeError(`${policy.algorithm} is no fixed window`)
    const { limit, window, align } = policy
    // a cost beyond the limit never fits, whatever its size
    return {
      limit,
      window: window * 1_000,
      aligned: align === "clock" ? 1 : 0,
      cost: Math.min(cost, limit + 1),
    }
  },

  sent: ({ limit, window, aligned, cost }) => ({ limit, window, aligned, cost }),

  read(_terms, state, now) {
    if (state === undefined || state.stop <= now) {
      return { now, start: now, stop: now, used: 0, reach: 0, jumped: false }
    }
    const { start, stop, used, reach } = state
    // further ahead than a window reaches: the clock went back; the window counts as opened now
    const jumped = stop - now > reach * 1_000 + Math.max(reach * 1_000, GRACE)
    if (jumped) return { now, start: now, stop: now + reach * 1_000, used, reach, jumped }
    return { now, start, stop, used, reach, jumped }
  },

  room(terms, view, count) {
    const room = Math.floor((terms.limit - view.used) / terms.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(terms, view, granted) {
    const { window, aligned } = terms
    if (aligned === 1) view.stop = Math.max(view.stop, (Math.floor(view.now / window) + 1) * window)
    else if (view.stop - view.start < window) view.stop = Math.max(view.stop, view.now + window)
    view.reach = Math.max(view.reach, window / 1_000)
    view.used += granted * terms.cost
    return kept(view)
  },

  // a debit of an earlier window is gone with it
  counts: (_terms, view, at) => at >= view.start,

  give(terms, view) {
    view.used = Math.max(view.used - terms.cost, 0)
    return view.used === 0 ? undefined : kept(view)
  },

  mend(_terms, view) {
    return view.jumped ? kept(view) : undefined
  },

  width: () => 2,

  tell(_terms, view) {
    return [view.used, view.stop - view.now]
  },

  explain(terms, level) {
    const used = level[0] as number
    const left = level[1] as number
    return {
      limit: terms.limit,
      remaining: Math.max(terms.limit - used, 0),
      retryAfter: wholeMilliseconds(this.wait(terms, level)),
      resetAfter: used > 0 ? wholeMilliseconds(left) : 0,
    }
  },

  wait({ limit, cost }, level) {
    const used = level[0] as number
    const left = level[1] as number
    if (cost > limit) return Number.POSITIVE_INFINITY
    return used + cost > limit ? left : 0
  },

  anyCost: true,

  before: ({ cost }, [used, left], times) => [(used as number) - times * cost, left as number],

  later: (_terms, [used, left], us) =>
    (left as number) > us ? [used as number, (left as number) - us] : [0, 0],

  holds: (_terms, [, left]) => left as number,
}

function kept({ start, stop, used, reach }: FixedWindowView): FixedWindowState {
  return { start, stop, used, reach, expiresAt: stop }
}
