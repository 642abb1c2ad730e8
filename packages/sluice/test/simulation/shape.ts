import {
  fixedWindow,
  leakyBucket,
  type OutagePolicy,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { Random } from "./random.js"

/** Milliseconds: how far ahead turns may lie. */
export const MAX_WAITS: readonly number[] = [500, 2_000, 10_000, 60_000]

/** A limiter that every process has. */
export interface LimiterShape {
  readonly name: string
  readonly policies: Readonly<Record<string, Policy>>
  readonly keys: readonly string[]
  readonly lease: { readonly time: number; readonly share: number } | undefined
  /** Milliseconds, as is `maxWait`. */
  readonly deadline: number
  readonly then: OutagePolicy
  readonly maxWait: number
}

export interface ProcessShape {
  readonly name: string
  readonly denyCache: boolean
  /** Microseconds by which its wall clock is ahead. */
  readonly skew: number
  /** When its client gives up what it has sent. */
  readonly patience: { readonly us: number; readonly closes: boolean } | undefined
}

/** What a seed makes of the world, before anything happens in it. */
export interface Shape {
  readonly seed: number
  /** Microseconds. */
  readonly duration: number
  /** Whether much goes wrong at once. */
  readonly stormy: boolean
  readonly servers: number
  /** Whether calls carry the time of the caller. */
  readonly callersClock: boolean
  readonly retryFor: number
  readonly limiters: readonly LimiterShape[]
  readonly processes: readonly ProcessShape[]
}

const HOUR = 3_600_000_000

export function shapeOf(seed: number): Shape {
  const random = new Random(seed, "shape")
  const callersClock = random.chance(0.2)
  return {
    seed,
    duration: random.integer(2 * HOUR, 5 * HOUR),
    stormy: random.chance(0.2),
    servers: random.chance(0.2) ? 3 : 1,
    callersClock,
    retryFor: random.pick([0, 100, 500, 500]),
    limiters: ["api", "jobs", "login"].slice(0, random.integer(1, 3)).map((name) => limiterOf(name, random)),
    processes: ["p1", "p2", "p3", "p4"].slice(0, random.integer(2, 4)).map((name) => ({
      name,
      denyCache: random.chance(0.8),
      skew: random.integer(-400_000, 400_000),
      patience: random.pick([
        undefined,
        { us: random.integer(500_000, 3_000_000), closes: true },
        { us: random.integer(500_000, 3_000_000), closes: false },
      ]),
    })),
  }
}

function limiterOf(name: string, random: Random): LimiterShape {
  const leased = random.chance(0.35)
  const policies = random.chance(0.2)
    ? { burst: policyOf(random, leased, 1_000), steady: policyOf(random, leased, 60_000) }
    : { default: policyOf(random, leased, random.pick([1_000, 5_000, 30_000, 600_000])) }
  return {
    name,
    policies,
    keys: ["a", "b", "c", "d"].slice(0, random.integer(1, 4)),
    lease: leased ? { time: random.pick([50, 100, 1_000]), share: random.pick([0.1, 0.3]) } : undefined,
    deadline: random.pick([100, 250, 500, 1_000]),
    then: random.pick<OutagePolicy>(["open", "closed", "throw", { local: 0.5 }, { local: 0.25 }]),
    maxWait: random.pick(MAX_WAITS),
  }
}

/** A policy of a few units, so that it is soon exhausted; more if it is to be leased. */
function policyOf(random: Random, leased: boolean, period: number): Policy {
  const limit = leased ? random.integer(30, 200) : random.integer(2, 30)
  const window = Math.ceil(period * (0.5 + random.next()))
  // an awkward rate more often than not
  const every = Math.ceil(window / random.integer(1, 7))
  const amount = Math.max(1, Math.floor((limit * every) / window))
  const kinds: (() => Policy)[] = [
    () => fixedWindow({ limit, window }),
    () => fixedWindow({ limit, window, align: "clock" }),
    () => slidingLog({ limit, window }),
    () => slidingWindow({ limit, window, buckets: random.integer(1, 12) }),
    () => tokenBucket({ capacity: limit, refill: amount, every }),
    () => tokenBucket({ capacity: limit, refill: amount, every, mode: "interval" }),
  ]
  if (!leased) kinds.push(() => leakyBucket({ capacity: limit, leak: amount, every }))
  return random.pick(kinds)()
}
