import type { Algorithm } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import { divide } from "../../divide.js"
import { charge, frontState, queueState, restore } from "./bucket-bookings.js"
import { type BucketParameters, bucketParameters, rescaled } from "./bucket-parameters.js"
import { type BucketState, type BucketView, stateOf } from "./bucket-state.js"

/**
 * The token bucket, and the leaky bucket as its mirror image. The state is one time: when the bucket is full again. Spending
 * moves it ahead by the time that the units take to come back. A bucket of capacity C has room while that time is no further
 * ahead than C units take.
 *
 * A unit takes every/refill microseconds, seldom a whole number. So times are a pair: whole microseconds, and `part` of
 * the `parts` equal pieces of the next one. Nothing is ever rounded.
 *
 * In interval mode the same bucket changes only at steps that are `step` microseconds apart. Steps are counted from
 * the first use (`anchor`), through a full bucket too, until `lapsesAt`.
 */
export const bucket: Algorithm<BucketParameters, BucketState, BucketView> = {
  parameters: bucketParameters,

  read(parameters, state, now) {
    const { step } = parameters
    let full = now
    let reach = parameters.reach
    let part = 0
    let anchor = -1
    let lapsesAt = 0
    let last = 0
    let low = 0
    let given = 0
    let gaps: BucketState["gaps"]
    if (state !== undefined) {
      full = state.full
      reach = state.reach
      part = rescaled(state.part, state.parts, parameters.parts)
      anchor = state.anchor
      lapsesAt = state.lapsesAt
      last = state.last
      low = state.low
      given = state.given
      // Gaps in other pieces of a microsecond are dropped.
      if (state.parts === parameters.parts) gaps = state.gaps
      if (part === parameters.parts) {
        full += 1
        part = 0
      }
    }
    const jumped = full - now > reach * 1_000 + Math.max(parameters.reach * 1_000, GRACE)
    if (jumped) {
      // Everything that was spent counts as spent now.
      full = now + reach * 1_000
      part = 0
      anchor = -1
      lapsesAt = 0
      last = 0
      low = 0
      given = 0
      gaps = undefined
    }
    let at = now
    if (step > 0) {
      // The state was written in continuous mode. Its units come back at a step.
      if (anchor < 0) anchor = full
      at = anchor + Math.floor((now - anchor) / step) * step
    }
    const spent = full > at || (full === at && part > 0)
    if (!spent && now >= lapsesAt) {
      at = now
      anchor = step > 0 ? now : -1
    }
    if (!spent) {
      full = at
      part = 0
    }
    return { state, now, at, ahead: full - at, part, reach, anchor, lapsesAt, last, low, given, jumped, gaps }
  },

  room(parameters, view, count) {
    const { parts, cost, costPart } = parameters
    let whole = parameters.span - view.ahead
    let rest = parameters.spanPart - view.part
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
    // `k * costPart` must stay a safe integer.
    const most = Math.min(count, Math.floor(Number.MAX_SAFE_INTEGER / parts))
    let k = Math.min(most, Math.floor((whole + rest / parts) / (cost + costPart / parts)))
    while (k > 0 && !fits(k)) k -= 1
    while (k < most && fits(k + 1)) k += 1
    return k
  },

  take(parameters, view, granted, lead = 0) {
    const { parts } = parameters
    const pieces = granted * parameters.costPart
    const carry = Math.floor(pieces / parts)
    if (lead > 0) {
      view.low = view.last > view.now - lead ? Math.min(view.low, view.ahead) : view.ahead
      view.last = Math.max(view.last, view.now)
    }
    view.ahead += granted * parameters.cost + carry
    view.part += pieces - carry * parts
    if (view.part >= parts) {
      view.part -= parts
      view.ahead += 1
    }
    view.lapsesAt = Math.max(view.lapsesAt, view.now + parameters.life)
    return stateOf(parameters, view, parameters.reach + wholeMilliseconds(lead))
  },

  save(parameters, view) {
    return stateOf(parameters, view, view.reach)
  },

  level({ parts, step }, view) {
    if (step > 0) return [view.ahead, view.part, view.now - view.at]
    return parts > 1 ? [view.ahead, view.part] : [view.ahead]
  },

  levelUntil({ parts, span, spanPart, cost, costPart, step }, _view, wait) {
    // Steps as seen from the gap, which may count them from another anchor.
    const late = step > 0 ? (step - (wait % step)) % step : 0
    const ahead = span - cost + wait + late - (costPart > spanPart ? 1 : 0)
    if (step > 0) return [ahead, 0, late]
    return parts > 1 ? [ahead, 0] : [ahead]
  },

  wait(parameters, level) {
    const { parts, span, spanPart, step } = parameters
    if (parameters.units > parameters.capacity) return Number.POSITIVE_INFINITY
    const lackingPart = (level[1] ?? 0) + parameters.costPart - spanPart
    // Rounded up to the whole microsecond.
    const over = lackingPart > parts ? 2 : lackingPart > 0 ? 1 : 0
    const lacking = (level[0] as number) + parameters.cost - span + over
    return untilStep(Math.max(0, lacking), step, level[2] ?? 0)
  },

  turn(parameters, view) {
    if (parameters.queue === 0) return this.wait(parameters, this.level(parameters, view, true))
    // Rounded down, because rounding up would accumulate from turn to turn.
    return this.room(parameters, view, 1) === 0 ? Number.POSITIVE_INFINITY : view.ahead
  },

  queueWidth: 7,
  queueIdentity: 2,
  queueState,

  describe: ([place = 0, part = 0, last = 0, low = 0, anchor = -1, lapsesAt = 0, given = 0]) => ({
    fullAt: (place - given) / 1_000,
    part,
    lastTurnAt: last / 1_000,
    low: Math.max(low, 0),
    ...(anchor >= 0 && { stepsFrom: anchor / 1_000, stepsUntil: lapsesAt / 1_000 }),
  }),

  restore,

  front(parameters, view, queue) {
    return this.read(parameters, frontState(view, parameters.parts, queue), view.now)
  },

  isWithin(_parameters, { at, ahead, part, given }, back) {
    const place = at + ahead + given
    return place < (back[0] as number) || (place === back[0] && part <= (back[1] as number))
  },

  isOver: ({ at, given }, backPlace) => backPlace - given < at,

  // Nothing is given back until the queue is over, because the gap cannot say whose units they were.
  noteGap(view, filled) {
    view.last = Math.max(view.last, filled?.last ?? 0)
    view.low = -1
  },

  charge,

  // Without the spend the bucket might have been full. Units refilled since then must not come back twice.
  counts(parameters, view, debitedAt) {
    return (
      refilledSince(debitedAt, parameters, view) < parameters.cost && (view.last <= view.now || view.low > 0)
    )
  },

  give(parameters, view, debitedAt) {
    let whole = parameters.cost
    let part = parameters.costPart
    if (debitedAt !== undefined) {
      whole -= refilledSince(debitedAt, parameters, view)
      // Units that would overflow the bucket before a booked turn are not given back either.
      if (view.last > view.now) whole = Math.min(whole, view.low)
    }
    if (view.last > view.now) {
      // In whole microseconds, so that `given` says exactly how far the queue has moved.
      part = 0
      view.low = view.low < 0 ? view.low : Math.max(view.low - whole, 0)
      view.given += whole
    } else view.gaps = undefined
    view.ahead -= whole
    view.part -= part
    if (view.part < 0) {
      view.part += parameters.parts
      view.ahead -= 1
    }
    if (view.ahead < 0 || (view.ahead === 0 && view.part === 0)) {
      view.ahead = 0
      view.part = 0
      if (view.lapsesAt <= view.now) return undefined
    }
    return stateOf(parameters, view, view.reach)
  },

  spentShare: ({ span }, { ahead }) => Math.min(ahead / span, 1),

  explain(parameters, level, allowed = false, asTurn = false) {
    const { parts, span, spanPart, capacity, window, step, queue } = parameters
    const ahead = level[0] as number
    const part = level[1] ?? 0
    const late = level[2] ?? 0
    const borrow = spanPart < part ? 1 : 0
    const left = span - ahead - borrow
    return {
      limit: capacity,
      window,
      remaining: left < 0 ? 0 : unitsIn(left, spanPart - part + borrow * parts, parameters),
      retryAfter: allowed
        ? 0
        : wholeMilliseconds(asTurn && queue === 1 ? ahead : this.wait(parameters, level)),
      resetAfter: wholeMilliseconds(untilStep(ahead + (part > 0 ? 1 : 0), step, late)),
    }
  },

  readsAnyCost: true,

  levelBefore({ parts, cost, costPart }, level, times) {
    const pieces = times * costPart
    const carry = Math.floor(pieces / parts)
    const part = (level[1] ?? 0) - (pieces - carry * parts)
    const borrow = part < 0 ? 1 : 0
    const ahead = (level[0] as number) - times * cost - carry - borrow
    return level.length === 1 ? [ahead] : [ahead, part + borrow * parts, ...level.slice(2)]
  },

  levelLater({ step }, level, us) {
    const ahead = level[0] as number
    if (level.length === 1) return [Math.max(ahead - us, 0)]
    const part = level[1] as number
    if (step === 0) return ahead >= us ? [ahead - us, part] : [0, 0]
    const late = level[2] as number
    const steps = Math.floor((late + us) / step) * step
    return ahead >= steps ? [ahead - steps, part, late + us - steps] : [0, 0, 0]
  },

  countsInFull: () => Number.POSITIVE_INFINITY,

  unitsSpent(parameters, level) {
    const ahead = level[0] as number
    const part = level[1] ?? 0
    const whole = unitsIn(ahead, part, parameters)
    const [time, timePart] = divide(whole, parameters.unit, parameters.parts)
    return time === ahead && timePart === part ? whole : whole + 1
  },
}

/** The time for which the bucket was refilled since a moment. In interval mode, in whole steps. */
function refilledSince(moment: number, { step }: BucketParameters, { now, at, anchor }: BucketView): number {
  if (step === 0) return Math.max(now - moment, 0)
  return Math.max(at - anchor - Math.floor((moment - anchor) / step) * step, 0)
}

/** How many whole units come back in a time. */
function unitsIn(
  whole: number,
  part: number,
  { parts, unit }: { readonly parts: number; readonly unit: number },
): number {
  const pieces = whole * parts + part
  if (Number.isSafeInteger(pieces)) return Math.floor(pieces / unit)
  return Number((BigInt(whole) * BigInt(parts) + BigInt(part)) / BigInt(unit))
}

/** The time from now until a step. The wait is counted from the last step, which was `late` ago, and ends at a step. */
function untilStep(us: number, step: number, late: number): number {
  return us > 0 && step > 0 ? Math.ceil(us / step) * step - late : us
}
