import type { Algorithm, State } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../../policy.js"

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
export interface BucketTerms {
  /** Pieces of a microsecond: refill / gcd(refill, every). */
  readonly parts: number
  /** The time the whole capacity takes, and its part. */
  readonly span: number
  readonly spanPart: number
  /** The time the cost takes, and its part. */
  readonly cost: number
  readonly costPart: number
  /** Milliseconds: the time that everything takes to come back, the furthest ahead that spending leads. */
  readonly reach: number
  /** Microseconds between steps; 0 for a continuous refill. */
  readonly step: number
  /** How long after a grant the anchor of the steps is remembered: as long as any bucket takes to fill. */
  readonly life: number
  readonly capacity: number
  readonly units: number
  /** Pieces of a microsecond that one unit takes. */
  readonly unit: number
}

export interface BucketState extends State {
  /** Nothing is spent any more at `full` microseconds and `part` / `parts` of one. */
  readonly full: number
  readonly part: number
  readonly parts: number
  /** Milliseconds: as in the terms it was written under. */
  readonly reach: number
  /** Where steps are counted from, and until when if the bucket is full; undefined if no steps were. */
  readonly anchor: number | undefined
  readonly lapsesAt: number
}

export interface BucketView {
  readonly now: number
  /** `now`, or the step at or before it. */
  readonly at: number
  /** How far ahead of `at` the bucket is full again, and its part. */
  ahead: number
  part: number
  readonly reach: number
  readonly anchor: number | undefined
  readonly lapsesAt: number
  readonly jumped: boolean
}

export const bucket: Algorithm<BucketTerms, BucketState, BucketView> = {
  lua: "bucket",

  terms(policy, units) {
    const { capacity, amount, every, stepwise } = flow(policy)
    const divisor = gcd(amount, every)
    const parts = amount / divisor
    const unit = every / divisor
    const [span, spanPart] = timeOf(capacity, unit, parts)
    // a cost beyond the capacity never fits, whatever its size
    const [cost, costPart] = timeOf(Math.min(units, capacity + 1), unit, parts)
    const life = stepwise ? Math.ceil(capacity / amount) * every : 0
    return {
      parts,
      span,
      spanPart,
      cost,
      costPart,
      reach: wholeMilliseconds(Math.max(life, span + (spanPart > 0 ? 1 : 0))),
      step: stepwise ? every : 0,
      life,
      capacity,
      units,
      unit,
    }
  },

  sent({ parts, span, spanPart, cost, costPart, reach, step, life }) {
    return {
      span,
      cost,
      reach,
      ...(parts > 1 && { parts, spanPart, costPart }),
      ...(step > 0 && { step, life }),
    }
  },

  read(terms, state, now) {
    const { step } = terms
    if (state === undefined) {
      const anchor = step > 0 ? now : undefined
      const { reach } = terms
      return { now, at: now, ahead: 0, part: 0, reach, anchor, lapsesAt: 0, jumped: false }
    }
    const { reach } = state
    let { full, anchor, lapsesAt } = state
    let part = rescaled(state.part, state.parts, terms.parts)
    if (part === terms.parts) {
      full += 1
      part = 0
    }
    // further ahead than spending leads: the clock went back; all of it counts as spent now
    const jumped = full - now > reach * 1_000 + Math.max(reach * 1_000, GRACE)
    if (jumped) {
      full = now + reach * 1_000
      part = 0
      anchor = undefined
      lapsesAt = 0
    }
    let at = now
    if (step > 0) {
      // what was spent before steps were counted comes back at a step
      anchor ??= full
      at = anchor + Math.floor((now - anchor) / step) * step
    }
    const spent = full > at || (full === at && part > 0)
    if (!spent && now >= lapsesAt) {
      at = now
      anchor = step > 0 ? now : undefined
    }
    if (!spent) {
      full = at
      part = 0
    }
    return { now, at, ahead: full - at, part, reach, anchor, lapsesAt, jumped }
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

  take(terms, view, granted) {
    const { parts } = terms
    const pieces = granted * terms.costPart
    const carry = Math.floor(pieces / parts)
    view.ahead += granted * terms.cost + carry
    view.part += pieces - carry * parts
    if (view.part >= parts) {
      view.part -= parts
      view.ahead += 1
    }
    const lapsesAt = Math.max(view.lapsesAt, view.now + terms.life)
    return kept(terms, view, terms.reach, lapsesAt)
  },

  // a bucket that has had the time to refill a debit may have been full since
  counts: (terms, view, at) => view.now - at < terms.cost,

  give(terms, view) {
    view.ahead -= terms.cost
    view.part -= terms.costPart
    if (view.part < 0) {
      view.part += terms.parts
      view.ahead -= 1
    }
    if (view.ahead < 0 || (view.ahead === 0 && view.part === 0)) {
      view.ahead = 0
      view.part = 0
      if (view.lapsesAt <= view.now) return undefined
    }
    return kept(terms, view, view.reach, view.lapsesAt)
  },

  mend(terms, view) {
    return view.jumped ? kept(terms, view, view.reach, view.lapsesAt) : undefined
  },

  width: ({ parts, step }) => (step > 0 ? 3 : parts > 1 ? 2 : 1),

  tell({ parts, step }, view) {
    if (step > 0) return [view.ahead, view.part, view.now - view.at]
    return parts > 1 ? [view.ahead, view.part] : [view.ahead]
  },

  explain(terms, level) {
    const { parts, span, spanPart, capacity, step } = terms
    const ahead = level[0] as number
    const part = level[1] ?? 0
    const late = level[2] ?? 0
    const borrow = spanPart < part ? 1 : 0
    const left = span - ahead - borrow
    return {
      limit: capacity,
      remaining: left < 0 ? 0 : unitsIn(left, spanPart - part + borrow * parts, terms),
      retryAfter: wholeMilliseconds(this.wait(terms, level)),
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

  anyCost: true,

  before(terms, level, times) {
    const { parts, cost, costPart } = terms
    const [ahead, part = 0, ...late] = level as [number, number, ...number[]]
    const pieces = times * costPart
    const carry = Math.floor(pieces / parts)
    const earlier = split(ahead - times * cost - carry, part - (pieces - carry * parts), parts)
    return level.length === 1 ? [earlier.whole] : [earlier.whole, earlier.part, ...late]
  },

  later({ step }, level, us) {
    const [ahead, part, late = 0] = level as [number, number, number?]
    if (step === 0) return ahead > us ? [ahead - us, ...level.slice(1)] : level.map(() => 0)
    const steps = Math.floor((late + us) / step) * step
    return ahead > steps ? [ahead - steps, part, late + us - steps] : [0, 0, 0]
  },

  holds: () => Number.POSITIVE_INFINITY,
}

/** How long until the step at or after a time from the last one, which was `late` ago. */
function untilStep(us: number, step: number, late: number): number {
  return us > 0 && step > 0 ? Math.ceil(us / step) * step - late : us
}

function kept(terms: BucketTerms, view: BucketView, reach: number, lapsesAt: number): BucketState {
  const full = view.at + view.ahead
  const { part, anchor } = view
  const until = anchor === undefined ? 0 : lapsesAt
  return {
    full,
    part,
    parts: terms.parts,
    reach,
    anchor,
    lapsesAt: until,
    expiresAt: Math.max(full + 1, until),
  }
}

/** As many pieces of another size as hold this part, rounded up: what was spent stays spent. */
function rescaled(part: number, from: number, to: number): number {
  if (part === 0 || from === to) return part
  const product = part * to
  return Number.isSafeInteger(product + from) ? Math.floor((product + from - 1) / from) : to
}

function flow(policy: Policy) {
  if (policy.algorithm === "tokenBucket") {
    const { capacity, refill, every, mode } = policy
    return { capacity, amount: refill, every: every * 1_000, stepwise: mode === "interval" }
  }
  if (policy.algorithm === "leakyBucket") {
    const { capacity, leak, every } = policy
    return { capacity, amount: leak, every: every * 1_000, stepwise: false }
  }
  throw new TypeError(`${policy.algorithm} is no bucket`)
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}

/** The time that `units` take, as whole microseconds and the part left over. */
function timeOf(units: number, unit: number, parts: number): [whole: number, part: number] {
  const pieces = units * unit
  if (Number.isSafeInteger(pieces)) return [Math.floor(pieces / parts), pieces % parts]
  const exact = BigInt(units) * BigInt(unit)
  return [Number(exact / BigInt(parts)), Number(exact % BigInt(parts))]
}

/** How many whole units a time is worth. */
function unitsIn(whole: number, part: number, { parts, unit }: BucketTerms): number {
  const pieces = whole * parts + part
  if (Number.isSafeInteger(pieces)) return Math.floor(pieces / unit)
  return Number((BigInt(whole) * BigInt(parts) + BigInt(part)) / BigInt(unit))
}

/** Carries a part outside 0 … parts − 1 into the whole. */
function split(whole: number, part: number, parts: number): { whole: number; part: number } {
  if (part < 0) return { whole: whole - 1, part: part + parts }
  if (part >= parts) return { whole: whole + 1, part: part - parts }
  return { whole, part }
}
