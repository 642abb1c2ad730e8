import type { LeakyBucket, Policy, TokenBucket } from "sluice"

/** Units at a time, in microseconds. */
export interface Units {
  readonly v: number
  readonly units: number
}

/** What a bound is larger by. */
export interface Excuses {
  /** In time order: for as long as `horizon` after it, as much more may be admitted. */
  readonly gifts: readonly Units[]
  readonly horizon: number
  /** In any span. */
  readonly units: number
  /** Microseconds by which clocks disagree. */
  readonly time: number
}

/** Says what is wrong if more was admitted in some span than the policy admits in any; units in time order. */
export function overAdmission(
  policy: Policy,
  admitted: readonly Units[],
  excuses: Excuses,
): string | undefined {
  if ("capacity" in policy) return overFilled(policy, admitted, excuses)
  const window = policy.window * 1_000
  // all longer spans are made of those of one window; of fixed windows, a span touches one more
  const most = policy.algorithm === "fixedWindow" ? 3 : 1
  for (let windows = 1; windows <= most; windows += 1) {
    const limit = policy.limit * (most > 1 ? windows + 1 : 1)
    const wrong = overLimit(limit, windows * window - excuses.time, admitted, excuses)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

function overLimit(
  limit: number,
  length: number,
  admitted: readonly Units[],
  excuses: Excuses,
): string | undefined {
  // clocks that disagree by more than a window say nothing of it
  if (length <= 0) return undefined
  let total = 0
  let first = 0
  for (const { v, units } of admitted) {
    total += units
    while ((admitted[first] as Units).v + length <= v) total -= (admitted[first++] as Units).units
    const from = (admitted[first] as Units).v
    if (total > limit + excused(excuses, from, v)) return said(total, from, v, limit)
  }
  return undefined
}

function overFilled(
  policy: TokenBucket | LeakyBucket,
  admitted: readonly Units[],
  excuses: Excuses,
): string | undefined {
  const amount = policy.algorithm === "tokenBucket" ? policy.refill : policy.leak
  const every = policy.every * 1_000
  const steps = policy.algorithm === "tokenBucket" && policy.mode === "interval" ? amount : 0
  const limit = policy.capacity + steps + (excuses.time * amount) / every
  let level = 0
  let total = 0
  let from = 0
  let last = 0
  for (const { v, units } of admitted) {
    level -= ((v - last) * amount) / every
    if (level <= 0) {
      level = 0
      total = 0
      from = v
    }
    last = v
    level += units
    total += units
    if (level > limit + 1e-6 + excused(excuses, from, v)) return said(total, from, v, policy.capacity)
  }
  return undefined
}

function excused({ gifts, horizon, units, time }: Excuses, from: number, to: number): number {
  let sum = units
  for (const gift of gifts) if (gift.v >= from - horizon && gift.v <= to + time) sum += gift.units
  return sum
}

function said(units: number, from: number, to: number, limit: number): string {
  return `${units} units within ${((to - from) / 1_000).toFixed(3)} ms from ${(from / 1_000_000).toFixed(6)} on, of a limit of ${limit}`
}
