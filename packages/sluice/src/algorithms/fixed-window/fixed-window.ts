import type { Algorithm, State } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"

/**
 * A window ends at `stop`; `used` units of it are spent. The window of a state may be another than the
 * policy's (a deploy, a policy given in a call): a longer one is kept to its end, a shorter one is
 * stretched by the next grant, so that units count for at least the window they were granted under.
 */
export interface FixedWindowTerms {
  readonly limit: number
  readonly window: number
  /** 1: windows are cut at multiples of their length; 0: they open with their first use. */
  readonly aligned: 0 | 1
  readonly cost: number
}

export interface FixedWindowState extends State {
  readonly stop: number
  readonly used: number
  /** Milliseconds: the length of this window. */
  readonly length: number
}

export interface FixedWindowView {
  readonly now: number
  stop: number
  used: number
  length: number
  readonly jumped: boolean
}

export const fixedWindow: Algorithm<FixedWindowTerms, FixedWindowState, FixedWindowView> = {
  lua: "fixedWindow",
  sent: ["limit", "window", "aligned", "cost"],
  width: 2,

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

  read(terms, state, now) {
    if (state === undefined || state.stop <= now) {
      return { now, stop: ownEnd(terms, now), used: 0, length: terms.window / 1_000, jumped: false }
    }
    const { stop, used, length } = state
    // further ahead than a window reaches: the clock went back; the window counts as opened now
    const jumped = stop - now > 2 * length * 1_000
    return { now, stop: jumped ? now + length * 1_000 : stop, used, length, jumped }
  },

  room(terms, view, count) {
    const room = Math.floor((terms.limit - view.used) / terms.cost)
    return Math.min(count, Math.max(room, 0))
  },

  take(terms, view, granted) {
    if (view.length * 1_000 < terms.window) {
      view.stop = Math.max(view.stop, ownEnd(terms, view.now))
      view.length = terms.window / 1_000
    }
    view.used += granted * terms.cost
    return kept(view)
  },

  give(terms, view) {
    view.used = Math.max(view.used - terms.cost, 0)
    return view.used === 0 ? undefined : kept(view)
  },

  mend(_terms, view) {
    return view.jumped ? kept(view) : undefined
  },

  tell(_terms, view) {
    return [view.used, view.stop - view.now]
  },

  explain(terms, level) {
    const { limit, cost } = terms
    const [used, left] = level as [number, number]
    const wait = used + cost > limit ? left : 0
    return {
      limit,
      remaining: Math.max(limit - used, 0),
      retryAfter: cost > limit ? Number.POSITIVE_INFINITY : wholeMilliseconds(wait),
      resetAfter: used > 0 ? wholeMilliseconds(left) : 0,
    }
  },
}

function ownEnd({ window, aligned }: FixedWindowTerms, now: number): number {
  return aligned === 1 ? (Math.floor(now / window) + 1) * window : now + window
}

function kept({ stop, used, length }: FixedWindowView): FixedWindowState {
  return { stop, used, length, expiresAt: stop }
}
