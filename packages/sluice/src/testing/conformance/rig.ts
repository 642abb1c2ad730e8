import { policyOfEach } from "../../algorithms/policy-of-each.js"
import { createLimiter } from "../../create-limiter.js"
import type { Limiter } from "../../limiter.js"
import type { Policies } from "../../policies.js"
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../policy.js"
import type { Store } from "../../store.js"
import type { ManualClock } from "../manual-clock.js"

/** A fresh, empty store under test, on a clock that the suite moves. */
export interface Rig {
  readonly clock: ManualClock
  /** Stores that share one state, as several processes would. One is enough for a store in memory. */
  readonly stores: readonly [Store, ...Store[]]
  /** The whole state as text by key. The text differs when anything differs. Leave it out if the state cannot be read. */
  snapshot?(): Promise<ReadonlyMap<string, string>>
  /** Milliseconds until each key expires. `slack` is how many milliseconds late that may be. */
  expiry?(): Promise<{ readonly left: ReadonlyMap<string, number>; readonly slack: number }>
}

/** One requirement on a store, under one of the laws. */
export interface ConformanceCase {
  readonly law: number
  readonly name: string
  /** The optional method of the rig that the case calls. */
  readonly needs?: "snapshot" | "expiry"
  /** Resolves if the store meets the requirement. Otherwise it rejects with an AssertionError. */
  run(rig: Rig): Promise<void>
}

/** A policy that grants 10 units at once, with the time that they take to come back. */
export interface Subject {
  readonly label: string
  readonly policy: Policy
  /** Milliseconds. */
  readonly period: number
  /** Whether its state is a time, not a number of units. Then a change of parameters rescales what was spent. */
  readonly inTime: boolean
}

const variants: readonly Subject[] = [
  windowed("fixedWindow", fixedWindow({ limit: 10, window: "1s" })),
  windowed("fixedWindow by the clock", fixedWindow({ limit: 10, window: "1s", align: "clock" })),
  windowed("slidingLog", slidingLog({ limit: 10, window: "1s" })),
  windowed("slidingWindow", slidingWindow({ limit: 10, window: "1s", buckets: 4 })),
  bucketed("tokenBucket", tokenBucket({ capacity: 10, refill: 10, every: "1s" }), 1_000),
  bucketed(
    "tokenBucket by intervals",
    tokenBucket({ capacity: 10, refill: 3, every: 300, mode: "interval" }),
    1_200,
  ),
  bucketed(
    "tokenBucket by intervals of more than it holds",
    tokenBucket({ capacity: 10, refill: 25, every: "1s", mode: "interval" }),
    1_000,
  ),
  bucketed("leakyBucket", leakyBucket({ capacity: 10, leak: 7, every: "700ms" }), 1_000),
]

/** The variants, and every other policy of the registry. */
export const subjects: readonly Subject[] = [
  ...variants,
  ...policyOfEach(10, 1_000)
    .filter(({ algorithm }) => !variants.some(({ policy }) => policy.algorithm === algorithm))
    .map((policy) => windowed(policy.algorithm, policy)),
]

function windowed(label: string, policy: Policy): Subject {
  return { label, policy, period: 1_000, inTime: false }
}

function bucketed(label: string, policy: Policy, period: number): Subject {
  return { label, policy, period, inTime: true }
}

/** The subject, and two policies of other algorithms whose limits are never reached. */
export function beside({ policy }: Subject): Record<string, Policy> {
  const roomy = [
    slidingLog({ limit: 100_000, window: "10s" }),
    tokenBucket({ capacity: 100_000, refill: 3, every: "7s" }),
    fixedWindow({ limit: 100_000, window: "10s" }),
  ].filter(({ algorithm }) => algorithm !== policy.algorithm)
  return { subject: policy, wide: roomy[0] as Policy, deep: roomy[1] as Policy }
}

/** A limiter named `name` on one store of the rig. Default: the first. */
export function limiterOn<P extends Policies>(
  rig: Rig,
  policy: P,
  name = "conformance",
  store = 0,
): Limiter<P> {
  const limiter = createLimiter<P>({ name, policy, store: rig.stores[store % rig.stores.length] as Store })
  return "algorithm" in policy ? limiter : (spendingAlike(limiter as never, policy) as never)
}

/** The same cost under every policy, as the record that a limiter with several policies takes. */
export function costOfEach(policies: Policies, cost: unknown): unknown {
  if (typeof cost !== "number" || "algorithm" in policies) return cost
  return Object.fromEntries(Object.keys(policies).map((name) => [name, cost]))
}

/** Wraps a limiter with several policies, so that a number is the cost under each of them. */
function spendingAlike(limiter: Limiter, policies: Policies): Limiter {
  const each = (cost: unknown) => costOfEach(policies, cost) as never
  const named = <O extends { readonly cost?: unknown; readonly policy?: unknown }>(
    options?: O,
  ): O | undefined =>
    options?.cost === undefined || options.policy !== undefined
      ? options
      : { ...options, cost: each(options.cost) }
  return {
    ...limiter,
    tryAcquire: (key, options) => limiter.tryAcquire(key, named(options)),
    acquire: (key, options) => limiter.acquire(key, named(options)),
    peek: (key, options) => limiter.peek(key, named(options)),
    charge: (key, cost, options) => limiter.charge(key, each(cost), options),
    refund: (key, cost, options) => limiter.refund(key, each(cost), options),
    reservation(key, id, options) {
      const pending = limiter.reservation(key, id, options)
      return { ...pending, settle: (actual) => pending.settle(each(actual)) }
    },
    async reserve(key, options) {
      const reserved = await limiter.reserve(key, named(options))
      return { ...reserved, settle: (actual) => reserved.settle(each(actual)) }
    },
  }
}

/** Makes two cases per policy: alone, and together with two others. */
export function forEachSubject(
  law: number,
  name: string,
  run: (rig: Rig, limiter: Limiter, subject: Subject, policy: Policies) => Promise<void>,
  needs?: "snapshot" | "expiry",
): ConformanceCase[] {
  return subjects.flatMap((subject) =>
    [false, true].map((among) => {
      const policy: Policies = among ? beside(subject) : subject.policy
      return {
        law,
        name: `${name} (${subject.label}${among ? " among three" : ""})`,
        ...(needs && { needs }),
        run: async (rig: Rig) => {
          await using limiter = limiterOn(rig, policy)
          await run(rig, limiter, subject, policy)
        },
      }
    }),
  )
}

/** Sends `times` requests of `cost` units and counts those that pass. */
export async function passed(limiter: Limiter, key: string, times: number, cost = 1): Promise<number> {
  let allowed = 0
  for (let i = 0; i < times; i += 1) if ((await limiter.tryAcquire(key, { cost })).allowed) allowed += 1
  return allowed
}

/** A pseudo-random generator of numbers from 0 to 1, the same in every run. */
export function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
