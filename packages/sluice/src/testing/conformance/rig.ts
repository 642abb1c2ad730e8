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

/** A store under test: fresh, empty, and on a clock that the suite moves. */
export interface Rig {
  readonly clock: ManualClock
  /** Stores over the same state, as different processes would have them; one is enough in memory. */
  readonly stores: readonly [Store, ...Store[]]
  /** All that is kept, by key, as text that differs when anything differs; left out where it cannot be read. */
  snapshot?(): Promise<ReadonlyMap<string, string>>
  /** Milliseconds until each key is dropped, and by how many of them that may come late. */
  expiry?(): Promise<{ readonly left: ReadonlyMap<string, number>; readonly slack: number }>
}

/** One thing that a store must do, under one of the laws. */
export interface ConformanceCase {
  readonly law: number
  readonly name: string
  /** What the rig must have for it beyond stores and a clock. */
  readonly needs?: "snapshot" | "expiry"
  /** Resolves when the store does it, rejects with an AssertionError when it does not. */
  run(rig: Rig): Promise<void>
}

/** A policy that grants 10 units at once, and how long they take to come back. */
export interface Subject {
  readonly label: string
  readonly policy: Policy
  /** Milliseconds. */
  readonly period: number
  /** Whether it counts in time rather than in units when its parameters change. */
  readonly inTime: boolean
}

export const subjects: readonly Subject[] = [
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

function windowed(label: string, policy: Policy): Subject {
  return { label, policy, period: 1_000, inTime: false }
}

function bucketed(label: string, policy: Policy, period: number): Subject {
  return { label, policy, period, inTime: true }
}

/** Two more policies that never decide, of algorithms other than the subject's. */
export function beside({ policy }: Subject): Record<string, Policy> {
  const roomy = [
    slidingLog({ limit: 100_000, window: "10s" }),
    tokenBucket({ capacity: 100_000, refill: 3, every: "7s" }),
    fixedWindow({ limit: 100_000, window: "10s" }),
  ].filter(({ algorithm }) => algorithm !== policy.algorithm)
  return { subject: policy, wide: roomy[0] as Policy, deep: roomy[1] as Policy }
}

/** A limiter named `name` on the rig's first store, or on the one given. */
export function limiterOn<P extends Policies>(
  rig: Rig,
  policy: P,
  name = "conformance",
  store = 0,
): Limiter<P> {
  return createLimiter<P>({ name, policy, store: rig.stores[store % rig.stores.length] as Store })
}

/** One case per policy, alone and among others. */
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

/** Asks `times` times for `cost` and tells how many passed. */
export async function passed(limiter: Limiter, key: string, times: number, cost = 1): Promise<number> {
  let allowed = 0
  for (let i = 0; i < times; i += 1) if ((await limiter.tryAcquire(key, { cost })).allowed) allowed += 1
  return allowed
}

/** Numbers from 0 to 1 that are the same in every run. */
export function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
