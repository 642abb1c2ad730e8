import type { Algorithm, State } from "../../algorithm.js"
import { wholeMilliseconds } from "../../clock.js"
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
 * apart and counted from first use (`anchor`).
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
  /** Milliseconds: the furthest ahead of the clock that spending leads. */
  readonly reach: number
  /** Microseconds between steps; 0 for a continuous refill. */
  readonly step: number
  /** How long after a grant the phase of the steps is remembered. */
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
  /** The step at which it was last taken from; undefined for a continuous refill. */
  readonly anchor: number | undefined
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
  readonly jumped: boolean
}

export const bucket: Algorithm<BucketTerms, BucketState, BucketView> = {
  lua: "bucket",
  sent: ["parts", "span", "spanPart", "cost", "costPart", "reach", "step", "life"],
  width: 3,

  terms(policy, units) {
    const { capacity, amount, every, stepwise } = flow(policy)
    const divisor = gcd(amount, every)
    const parts = amount / divisor
    const unit = every / divisor
    const [span, spanPart] = timeOf(capacity, unit, parts)
    // a cost beyond the capacity never fits, whatever its size
    const [cost, costPart] = timeOf(Math.min(units, capacity + 1), unit, parts)
    return {
      parts,
      span,
      spanPart,
      cost,
      costPart,
      reach: wholeMilliseconds(span + 1),
      step: stepwise ? every : 0,
      life: stepwise ? Math.ceil(capacity / amount) * every : 0,
      capacity,
      units,
      unit,
    }
  },

  read(terms, state, now) {
    const { parts, step, life } = terms
    let at = now
    let anchor: number | undefined
    if (step > 0 && state?.anchor !== undefined && now < state.anchor + life) {
      at = state.anchor + Math.floor((now - state.anchor) / step) * step
      anchor = Math.min(state.anchor, at)
    }
    let ahead = 0
    let part = 0
    let reach = terms.reach
    let jumped = false
    if (state !== undefined) {
      ahead = state.full - at
      part = state.part
      reach = state.reach
      // pieces of another size: round up, what was spent stays spent
      if (part > 0 && state.parts !== parts) {
        ahead += 1
        part = 0
      }
      if (ahead < 0) {
        ahead = 0
        part = 0
      }
      // further ahead than spending leads: the clock went back; all of it counts as spent now
      jumped = ahead > 2 * reach * 1_000
      if (jumped) {
        ahead = reach * 1_000
        part = 0
      }
    }
    return { now, at, ahead, part, reach, anchor, jumped }
  },

  room(terms, view, count) {
    const { parts, cost, costPart } = terms
    let whole = terms.span - view.ahead
    let rest = terms.spanPart - view.part
    if (rest < 0) {
      whole -= 1
      rest += parts
    }
    const fits = (k: number) => {
      const pieces = k * costPart
      const carry = Math.floor(pieces / parts)
      const needed = k * cost + carry
      return needed < whole || (needed === whole && pieces - carry * parts <= rest)
    }
    if (whole < 0) return 0
    if (count === 1) return fits(1) ? 1 : 0
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
    return kept(terms, view, terms.reach, terms.step > 0 ? view.at : undefined)
  },

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
      if (view.anchor === undefined) return undefined
    }
    return kept(terms, view, view.reach, view.anchor)
  },

  mend(terms, view) {
    return view.jumped ? kept(terms, view, view.reach, view.anchor) : undefined
  },

  tell(_terms, view) {
    return [view.ahead, view.part, view.now - view.at]
  },

  explain(terms, level) {
    const { parts, span, spanPart, capacity, step } = terms
    const [ahead, part, late] = level as [number, number, number]
    const left = split(span - ahead, spanPart - part, parts)
    const lacking = split(ahead + terms.cost - span, part + terms.costPart - spanPart, parts)
    const atStep = (us: number) => (us > 0 && step > 0 ? Math.ceil(us / step) * step - late : us)
    const wait = Math.max(0, lacking.whole + (lacking.part > 0 ? 1 : 0))
    return {
      limit: capacity,
      remaining: left.whole < 0 ? 0 : unitsIn(left.whole, left.part, terms),
      retryAfter: terms.units > capacity ? Number.POSITIVE_INFINITY : wholeMilliseconds(atStep(wait)),
      resetAfter: wholeMilliseconds(atStep(ahead + (part > 0 ? 1 : 0))),
    }
  },
}

function kept(terms: BucketTerms, view: BucketView, reach: number, anchor: number | undefined): BucketState {
  const full = view.at + view.ahead
  const expiresAt = Math.max(full + 1, anchor === undefined ? 0 : anchor + terms.life)
  return { full, part: view.part, parts: terms.parts, reach, anchor, expiresAt }
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
