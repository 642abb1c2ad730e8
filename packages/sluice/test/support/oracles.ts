import type { Policy } from "sluice"

/**
 * A policy by its definition, in exact integers of any size, not optimised for speed. Times are microseconds and only go
 * forward.
 */
export interface Oracle {
  /** Whether this many units fit at `now`. */
  fits(now: bigint, units: bigint): boolean
  spend(now: bigint, units: bigint): void
  /** Whole units left at `now`. */
  remaining(now: bigint): bigint
  /** The microseconds until this many units fit, rounded up. Only for units that can fit. */
  untilFits(now: bigint, units: bigint): bigint
  /** The microseconds until nothing is spent, rounded up. */
  untilEmpty(now: bigint): bigint
}

export function oracleOf(policy: Policy): Oracle {
  switch (policy.algorithm) {
    case "fixedWindow":
      return windows(BigInt(policy.limit), us(policy.window), policy.align === "clock")
    case "slidingLog":
      return entries(BigInt(policy.limit), us(policy.window), 1n)
    case "slidingWindow": {
      const subWindow = up(us(policy.window), BigInt(policy.buckets))
      return entries(BigInt(policy.limit), us(policy.window), subWindow)
    }
    case "leakyBucket":
      return level(BigInt(policy.capacity), BigInt(policy.leak), us(policy.every))
    case "tokenBucket": {
      const make = policy.mode === "interval" ? staircase : level
      return make(BigInt(policy.capacity), BigInt(policy.refill), us(policy.every))
    }
    default:
      throw new Error(`${(policy as Policy).algorithm} has no oracle yet: write one`)
  }
}

/** Windows of a fixed length, which start with the first unit or at multiples of the length. */
function windows(limit: bigint, length: bigint, aligned: boolean): Oracle {
  let end = 0n
  let used = 0n
  const usedAt = (now: bigint) => (now < end ? used : 0n)
  const left = (now: bigint) => end - now
  return {
    fits: (now, units) => usedAt(now) + units <= limit,
    spend(now, units) {
      used = usedAt(now) + units
      if (now >= end) end = aligned ? now - (now % length) + length : now + length
    },
    remaining: (now) => limit - usedAt(now),
    untilFits: (now, units) => (usedAt(now) + units <= limit ? 0n : left(now)),
    untilEmpty: (now) => (usedAt(now) > 0n ? left(now) : 0n),
  }
}

/** Units with the time of each. Later units in the same sub-window move that time forward. */
function entries(limit: bigint, window: bigint, subWindow: bigint): Oracle {
  let log: { at: bigint; units: bigint }[] = []
  const live = (now: bigint) => log.filter(({ at }) => at + window > now)
  const total = (now: bigint) => live(now).reduce((sum, { units }) => sum + units, 0n)
  const untilFits = (now: bigint, units: bigint) => {
    const leaving = [now, ...live(now).map(({ at }) => at + window)]
    const at = leaving.find((moment) => total(moment) + units <= limit) as bigint
    return at - now
  }
  return {
    fits: (now, units) => total(now) + units <= limit,
    spend(now, units) {
      log = live(now).map((entry) =>
        entry.at / subWindow === now / subWindow ? { ...entry, at: now } : entry,
      )
      log.push({ at: now, units })
    },
    remaining: (now) => limit - total(now),
    untilFits,
    untilEmpty: (now) => untilFits(now, limit),
  }
}

/** A level of spent units that sinks by `amount` every `every`, stored as a fraction over `every`. */
function level(capacity: bigint, amount: bigint, every: bigint): Oracle {
  let spent = 0n
  let asOf = 0n
  const spentAt = (now: bigint) => atLeastZero(spent - (now - asOf) * amount)
  const excess = (now: bigint, units: bigint) => spentAt(now) + (units - capacity) * every
  return {
    fits: (now, units) => excess(now, units) <= 0n,
    spend(now, units) {
      spent = spentAt(now) + units * every
      asOf = now
    },
    remaining: (now) => (capacity * every - spentAt(now)) / every,
    untilFits: (now, units) => up(atLeastZero(excess(now, units)), amount),
    untilEmpty: (now) => up(spentAt(now), amount),
  }
}

/**
 * Whole tokens. `refill` of them are added at every step, counted from the first use. Once an empty bucket would have been
 * filled since the last grant, the steps are forgotten and the next use is a first use.
 */
function staircase(capacity: bigint, refill: bigint, every: bigint): Oracle {
  let phase: { start: bigint; lastGrant: bigint; lastStep: bigint } | undefined
  let spent = 0n
  const lasts = up(capacity, refill) * every
  const phaseAt = (now: bigint) => (phase && now < phase.lastGrant + lasts ? phase : undefined)
  const stepAt = (now: bigint) => {
    const start = phaseAt(now)?.start
    return start === undefined ? now : now - ((now - start) % every)
  }
  const spentAt = (now: bigint) => {
    const current = phaseAt(now)
    if (current === undefined) return 0n
    return atLeastZero(spent - refill * ((stepAt(now) - current.lastStep) / every))
  }
  const until = (now: bigint, lacking: bigint) =>
    lacking <= 0n ? 0n : stepAt(now) + up(lacking, refill) * every - now
  return {
    fits: (now, units) => spentAt(now) + units <= capacity,
    spend(now, units) {
      const step = stepAt(now)
      spent = spentAt(now) + units
      phase = { start: phaseAt(now)?.start ?? now, lastGrant: now, lastStep: step }
    },
    remaining: (now) => capacity - spentAt(now),
    untilFits: (now, units) => until(now, spentAt(now) + units - capacity),
    untilEmpty: (now) => until(now, spentAt(now)),
  }
}

function us(ms: number): bigint {
  return BigInt(ms) * 1_000n
}

function up(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function atLeastZero(value: bigint): bigint {
  return value < 0n ? 0n : value
}
