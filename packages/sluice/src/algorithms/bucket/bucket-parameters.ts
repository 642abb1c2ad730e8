import { wholeMilliseconds } from "../../clock.js"
import { divide } from "../../divide.js"
import type { Policy } from "../registry.js"

/** The parameters of a bucket. A time is whole microseconds and a number of pieces of one. */
export interface BucketParameters {
  /** Pieces of a microsecond: refill / gcd(refill, every). */
  readonly parts: number
  /** The time the whole capacity takes, and its part. */
  readonly span: number
  readonly spanPart: number
  /** The time the cost takes, and its part. */
  readonly cost: number
  readonly costPart: number
  /** The same in pieces. NaN if that is not a safe integer. */
  readonly spanPieces: number
  readonly costPieces: number
  /** The time from empty to full in milliseconds, which is the furthest that spending leads. */
  readonly reach: number
  /** Microseconds between steps; 0 for a continuous refill. */
  readonly step: number
  /** How long after a grant the anchor of the steps is kept: the time that a bucket takes to fill. */
  readonly life: number
  /** 1: a waiter's turn comes when everything before it has leaked out. 0: as soon as there are tokens. */
  readonly queue: 0 | 1
  readonly capacity: number
  /** Milliseconds from empty to full, rounded up. */
  readonly window: number
  readonly units: number
  /** Pieces of a microsecond that one unit takes. */
  readonly unit: number
}

/** Derives the parameters of a bucket from a policy and a cost. */
export function bucketParameters(policy: Policy, units: number): BucketParameters {
  const { capacity, amount, every, interval, queue } = flow(policy)
  const divisor = gcd(amount, every)
  const parts = amount / divisor
  const unit = every / divisor
  const [span, spanPart] = divide(capacity, unit, parts)
  // A cost beyond the capacity never fits, whatever its size, and debt is no more than the capacity.
  const [cost, costPart] = divide(Math.min(units, 2 * capacity), unit, parts)
  const spanPieces = span * parts + spanPart
  const counts = Number.isSafeInteger(spanPieces)
  const life = interval ? Math.ceil(capacity / amount) * every : 0
  const reach = wholeMilliseconds(Math.max(life, span + (spanPart > 0 ? 1 : 0)))
  return {
    parts,
    span,
    spanPart,
    cost,
    costPart,
    spanPieces: counts ? spanPieces : Number.NaN,
    costPieces: counts ? cost * parts + costPart : Number.NaN,
    reach,
    step: interval ? every : 0,
    life,
    queue,
    capacity,
    window: reach,
    units,
    unit,
  }
}

function flow(policy: Policy) {
  if (policy.algorithm === "tokenBucket") {
    const { capacity, refill, every, mode } = policy
    return {
      capacity,
      amount: refill,
      every: every * 1_000,
      interval: mode === "interval",
      queue: 0 as const,
    }
  }
  if (policy.algorithm === "leakyBucket") {
    const { capacity, leak, every } = policy
    return { capacity, amount: leak, every: every * 1_000, interval: false, queue: 1 as const }
  }
  throw new TypeError(`${policy.algorithm} is no bucket`)
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}

/** Converts a part into pieces of another size. It rounds up, so that spent units stay spent. */
export function rescaled(part: number, from: number, to: number): number {
  if (part === 0 || from === to) return part
  const product = part * to
  return Number.isSafeInteger(product + from) ? Math.floor((product + from - 1) / from) : to
}
