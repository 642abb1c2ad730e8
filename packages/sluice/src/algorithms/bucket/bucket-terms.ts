import { wholeMilliseconds } from "../../clock.js"
import type { Policy } from "../../policy.js"
import { timeOf } from "./bucket-time.js"

/** The numbers of a bucket: times are whole microseconds, and a part of one in pieces. */
export interface BucketTerms {
  /** Pieces of a microsecond: refill / gcd(refill, every). */
  readonly parts: number
  /** The time the whole capacity takes, and its part. */
  readonly span: number
  readonly spanPart: number
  /** The time the cost takes, and its part. */
  readonly cost: number
  readonly costPart: number
  /** The same in pieces, for what counts in nothing else; NaN if they are too many for a number. */
  readonly spanPieces: number
  readonly costPieces: number
  /** Milliseconds: the time that everything takes to come back, the furthest ahead that spending leads. */
  readonly reach: number
  /** Microseconds between steps; 0 for a continuous refill. */
  readonly step: number
  /** How long after a grant the anchor of the steps is remembered: as long as any bucket takes to fill. */
  readonly life: number
  /** 1: who waits goes when all before have leaked out; 0: as soon as there are tokens. */
  readonly queue: 0 | 1
  readonly capacity: number
  readonly units: number
  /** Pieces of a microsecond that one unit takes. */
  readonly unit: number
}

/** Derives the numbers of a bucket from a policy and a cost. */
export function bucketTerms(policy: Policy, units: number): BucketTerms {
  const { capacity, amount, every, stepwise, queue } = flow(policy)
  const divisor = gcd(amount, every)
  const parts = amount / divisor
  const unit = every / divisor
  const [span, spanPart] = timeOf(capacity, unit, parts)
  // a cost beyond the capacity never fits, whatever its size, and debt is no more than the capacity
  const [cost, costPart] = timeOf(Math.min(units, 2 * capacity), unit, parts)
  const spanPieces = span * parts + spanPart
  const counts = Number.isSafeInteger(spanPieces)
  const life = stepwise ? Math.ceil(capacity / amount) * every : 0
  return {
    parts,
    span,
    spanPart,
    cost,
    costPart,
    spanPieces: counts ? spanPieces : Number.NaN,
    costPieces: counts ? cost * parts + costPart : Number.NaN,
    reach: wholeMilliseconds(Math.max(life, span + (spanPart > 0 ? 1 : 0))),
    step: stepwise ? every : 0,
    life,
    queue,
    capacity,
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
      stepwise: mode === "interval",
      queue: 0 as const,
    }
  }
  if (policy.algorithm === "leakyBucket") {
    const { capacity, leak, every } = policy
    return { capacity, amount: leak, every: every * 1_000, stepwise: false, queue: 1 as const }
  }
  throw new TypeError(`${policy.algorithm} is no bucket`)
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}
