import { type Algorithm, levelOf, type Numbers } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import { spendPlain } from "./bucket-plain.js"
import {
  ANCHOR,
  type BucketView,
  FORM,
  FULL,
  keep,
  LAPSES_AT,
  LAST,
  LOW,
  PART,
  REACH,
} from "./bucket-state.js"
import { type BucketTerms, bucketTerms } from "./bucket-terms.js"
import { rescaled, unitsIn, untilStep } from "./bucket-time.js"
import { charge, line, restore } from "./bucket-turns.js"

/** The one view, so that an ask makes no garbage of it. */
const seen: BucketView = {
  now: 0,
  at: 0,
  ahead: 0,
  part: 0,
  reach: 0,
  anchor: Number.NaN,
  lapsesAt: 0,
  last: 0,
  low: 0,
  jumped: false,
}

/**
 * The token bucket, and the leaky bucket as its mirror image: one state, the instant at which nothing is
 * spent any more. Spending moves it into the future by the time the units take to come back; a bucket of
 * capacity C has room while it lies no further ahead than C units take.
 *
 * A unit takes every/refill microseconds, seldom a whole number, so times are a pair: whole microseconds
 * and `part` of the `parts` equal pieces of the next one. Nothing is ever rounded.
 *
 * In interval mode the same bucket is looked at only at the steps of a staircase, `step` microseconds
 * apart. They are counted from first use (`anchor`), through a full bucket too, until it lapses (`lapsesAt`).
 */
export const bucket: Algorithm<BucketTerms, Numbers, BucketView> = {
  inNumbers: true,

  terms: bucketTerms,

  read(terms, cells, cell, now) {
    const { step } = terms
    let full = now
    let reach = terms.reach
    let part = 0
    let anchor = Number.NaN
    let lapsesAt = 0
    let last = 0
    let low = 0
    if (cells !== undefined) {
      const { near } = cells
      const form = near[cell + FORM] as number
      full = near[cell + FULL] as number
      reach = near[cell + REACH] as number
      part = rescaled(near[cell + PART] as number, Math.abs(form), terms.parts)
      if (form < 0) {
        const far = cells.far()
        anchor = far[cell + ANCHOR] as number
        lapsesAt = far[cell + LAPSES_AT] as number
        last = far[cell + LAST] as number
        low = far[cell + LOW] as number
      }
      if (part === terms.parts) {
        full += 1
        part = 0
      }
    }
    // further ahead than spending leads: the clock went back; all of it counts as spent now
    const jumped = full - now > reach * 1_000 + Math.max(terms.reach * 1_000, GRACE)
    if (jumped) {
      full = now + reach * 1_000
      part = 0
      anchor = Number.NaN
      lapsesAt = 0
      last = 0
      low = 0
    }
    let at = now
    if (step > 0) {
      // what was spent before steps were counted comes back at a step
      if (Number.isNaN(anchor)) anchor = full
      at = anchor + Math.floor((now - anchor) / step) * step
    }
    const spent = full > at || (full === at && part > 0)
    if (!spent && now >= lapsesAt) {
      at = now
      anchor = step > 0 ? now : Number.NaN
    }
    if (!spent) {
      full = at
      part = 0
    }
    seen.now = now
    seen.at = at
    seen.ahead = full - at
    seen.part = part
    seen.reach = reach
    seen.anchor = anchor
    seen.lapsesAt = lapsesAt
    seen.last = last
    seen.low = low
    seen.jumped = jumped
    return seen
  },

  room(terms, view, count) {
    const { parts, cost, costPart } = terms
    let whole = terms.span - view.ahead
    let rest = terms.spanPart - view.part
    if (rest < 0) {
      whole -= 1
      rest += parts
    }
    if (whole < 0) return 0
    if (count === 1) return cost < whole || (cost === whole && costPart <= rest) ? 1 : 0
    const fits = (k: number) => {
      const pieces = k * costPart
      const carry = Math.floor(pieces / parts)
      const needed = k * cost + carry
      return needed < whole || (needed === whole && pieces - carry * parts <= rest)
    }
    // k · costPart must stay an exact integer
    const most = Math.min(count, Math.floor(Number.MAX_SAFE_INTEGER / parts))
    let k = Math.min(most, Math.floor((whole + rest / parts) / (cost + costPart / parts)))
    while (k > 0 && !fits(k)) k -= 1
    while (k < most && fits(k + 1)) k += 1
    return k
  },

  take(terms, view, granted, cells, cell, lead = 0) {
    const { parts } = terms
    const pieces = granted * terms.costPart
    const carry = Math.floor(pieces / parts)
    if (lead > 0) {
      view.low = view.last > view.now - lead ? Math.min(view.low, view.ahead) : view.ahead
      view.last = Math.max(view.last, view.now)
    }
    view.ahead += granted * terms.cost + carry
    view.part += pieces - carry * parts
    if (view.part >= parts) {
      view.part -= parts
      view.ahead += 1
    }
    view.lapsesAt = Math.max(view.lapsesAt, view.now + terms.life)
    return keep(terms, view, terms.reach + wholeMilliseconds(lead), cells, cell)
  },

  spendPlain,

  turn(terms, view) {
    if (terms.queue === 0) return this.wait(terms, this.tell(terms, view, true))
    // rounded down, or what is rounded up would add up from turn to turn
    return this.room(terms, view, 1) === 0 ? Number.POSITIVE_INFINITY : view.ahead
  },

  lineWidth: 6,

  line,

  restore,

  charge,

  // without the debit the bucket may have been full for as long: what has been refilled since is not given twice
  counts(terms, view, debitedAt) {
    return refilledSince(debitedAt, terms, view) < terms.cost && (view.last <= view.now || view.low > 0)
  },

  give(terms, view, debitedAt, cells, cell) {
    let whole = terms.cost
    let part = terms.costPart
    if (debitedAt !== undefined) {
      whole -= refilledSince(debitedAt, terms, view)
      // nor what would run over before a turn comes
      if (view.last > view.now && whole >= view.low) {
        whole = view.low
        part = 0
      }
    }
    view.low = Math.max(view.low - whole - (part > 0 ? 1 : 0), 0)
    view.ahead -= whole
    view.part -= part
    if (view.part < 0) {
      view.part += terms.parts
      view.ahead -= 1
    }
    if (view.ahead < 0 || (view.ahead === 0 && view.part === 0)) {
      view.ahead = 0
      view.part = 0
      if (view.lapsesAt <= view.now) return 0
    }
    return keep(terms, view, view.reach, cells, cell)
  },

  mend(terms, view, cells, cell) {
    return view.jumped ? keep(terms, view, view.reach, cells, cell) : 0
  },

  tell({ parts, step }, view) {
    if (step > 0) return levelOf(view.ahead, view.part, view.now - view.at)
    return parts > 1 ? levelOf(view.ahead, view.part) : levelOf(view.ahead)
  },

  explain(terms, level, allowed = false, asTurn = false) {
    const { parts, span, spanPart, capacity, step, queue } = terms
    const ahead = level[0] as number
    const part = level[1] ?? 0
    const late = level[2] ?? 0
    const borrow = spanPart < part ? 1 : 0
    const left = span - ahead - borrow
    return {
      limit: capacity,
      remaining: left < 0 ? 0 : unitsIn(left, spanPart - part + borrow * parts, terms),
      retryAfter: allowed ? 0 : wholeMilliseconds(asTurn && queue === 1 ? ahead : this.wait(terms, level)),
      resetAfter: wholeMilliseconds(untilStep(ahead + (part > 0 ? 1 : 0), step, late)),
    }
  },

  wait(terms, level) {
    const { parts, span, spanPart, step } = terms
    if (terms.units > terms.capacity) return Number.POSITIVE_INFINITY
    const lackingPart = (level[1] ?? 0) + terms.costPart - spanPart
    // rounded up to the whole microsecond
    const over = lackingPart > parts ? 2 : lackingPart > 0 ? 1 : 0
    const lacking = (level[0] as number) + terms.cost - span + over
    return untilStep(Math.max(0, lacking), step, level[2] ?? 0)
  },
}

/** How much time's worth has been refilled since a moment: in steps, if steps are counted. */
function refilledSince(moment: number, { step }: BucketTerms, { now, at, anchor }: BucketView): number {
  if (step === 0) return Math.max(now - moment, 0)
  return Math.max(at - anchor - Math.floor((moment - anchor) / step) * step, 0)
}
