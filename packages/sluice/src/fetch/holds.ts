import { Background } from "../background.js"
import type { Timers } from "../clock.js"
import { decide } from "../decide.js"
import { LONGEST_MS } from "../duration.js"
import { flatCopy } from "../flat-copy.js"
import { tokenBucket } from "../policy.js"
import { policyRef } from "../state-key.js"
import type { PolicyRequest, Store } from "../store.js"

/** How many held keys a process remembers. It looks up the others in the store. */
const MAX_KNOWN = 10_000

/** Pauses keys for a while, in every process that uses the store. */
export interface Holds {
  /** Pauses a key for `ms` milliseconds from now. A longer hold that exists already stays. */
  hold(key: string, ms: number): void
  /** Milliseconds left of the hold on a key, as far as this process knows. */
  known(key: string): number
  /** Reads from the store how many milliseconds are left of the hold on a key. */
  look(key: string): Promise<number>
  /** Resolves when every hold was written to the store or the write failed. */
  settled(): Promise<void>
}

/** A bucket that refills one unit per millisecond. The units spent from it are the milliseconds that a hold still lasts. */
const lasting = (ms: number) => tokenBucket({ capacity: ms, refill: 1, every: 1 })
const empty = lasting(1)

/**
 * Keeps holds in a store. A hold of R milliseconds spends up to R units from a bucket of capacity R, in one atomic step.
 * The bucket grants only what is left in it, so overlapping holds do not add up: the longest one counts.
 */
export function holdsOn(store: Store, limiter: string, timers: Timers): Holds {
  // Policy names are never empty, so this state cannot collide with a policy of the limiter.
  const ref = policyRef(limiter, "")
  const knownUntil = new Map<string, number>()
  const background = new Background()
  const requestOf = (key: string, policy = empty): PolicyRequest => ({ ref, key, policy, cost: 1 })

  const known = (key: string) => {
    const left = (knownUntil.get(key) ?? 0) - timers.now()
    if (left > 0) return left
    knownUntil.delete(key)
    return 0
  }

  const note = (key: string, ms: number) => {
    if (ms <= known(key)) return
    knownUntil.delete(key)
    const [oldest] = knownUntil.keys()
    if (knownUntil.size >= MAX_KNOWN && oldest !== undefined) knownUntil.delete(oldest)
    knownUntil.set(flatCopy(key), timers.now() + withJitter(ms))
  }

  return {
    known,

    hold(key, ms) {
      const count = Math.min(Math.ceil(ms), LONGEST_MS)
      note(key, count)
      background.run(() => store.decide({ policies: [requestOf(key, lasting(count))], count, mode: "spend" }))
    },

    async look(key) {
      const policy = requestOf(key)
      const reply = await store.decide({ policies: [policy], count: 1, mode: "peek" })
      note(key, decide([{ ...policy, name: "" }], reply).retryAfter)
      return known(key)
    },

    settled: () => background.settled(),
  }
}

/**
 * Adds random jitter to a wait, so that not all processes resume at once: up to 10 %, at most one second.
 * The extra millisecond makes up for rounding when a hold extends one that ends within a millisecond.
 */
export function withJitter(ms: number): number {
  return ms + 1 + Math.random() * Math.min(ms / 10, 1_000)
}
