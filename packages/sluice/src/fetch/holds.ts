import { Background } from "../background.js"
import type { Timers } from "../clock.js"
import { decide } from "../decision.js"
import { LONGEST_MS } from "../duration.js"
import { tokenBucket } from "../policy.js"
import { scopeOf } from "../state-key.js"
import type { Part, Store } from "../store.js"

/** How many keys a process knows to be held back; of others it learns from the store. */
const MOST_KNOWN = 10_000

/** Keys that nobody may use for a while, in any process on the store. */
export interface Holds {
  /** Holds a key back from now on for so many milliseconds, or for as long as it is held already if that is more. */
  hold(key: string, ms: number): void
  /** Milliseconds for which this process knows a key to be held back. */
  known(key: string): number
  /** Asks the store for how many milliseconds a key is held back. */
  look(key: string): Promise<number>
  /** Resolves when the store knows all holds, or could not be told. */
  settled(): Promise<void>
}

/** A bucket that loses a unit every millisecond: what is in it is how long the hold still lasts. */
const lasting = (ms: number) => tokenBucket({ capacity: ms, refill: 1, every: 1 })
const empty = lasting(1)

/**
 * Keeps holds on a store. A hold of R milliseconds asks a bucket of that capacity for R units one by one: it is
 * granted what the bucket lacks to be full, in one step, so that the longest of all holds decides, whoever asks.
 */
export function holdsOn(store: Store, limiter: string, timers: Timers): Holds {
  // no policy has an empty name, so no limiter counts there
  const scope = scopeOf(limiter, "")
  const knownUntil = new Map<string, number>()
  const background = new Background()
  const partOf = (key: string, policy = empty): Part => ({ scope, key, policy, cost: 1 })

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
    if (knownUntil.size >= MOST_KNOWN && oldest !== undefined) knownUntil.delete(oldest)
    knownUntil.set(key, timers.now() + spread(ms))
  }

  return {
    known,

    hold(key, ms) {
      const count = Math.min(Math.ceil(ms), LONGEST_MS)
      note(key, count)
      background.run(() => store.ask({ parts: [partOf(key, lasting(count))], count, mode: "spend" }))
    },

    async look(key) {
      const part = partOf(key)
      const answer = await store.ask({ parts: [part], count: 1, mode: "peek" })
      note(key, decide([{ ...part, name: "" }], answer).retryAfter)
      return known(key)
    },

    settled: () => background.settled(),
  }
}

/**
 * A little more than so many milliseconds, so that not all processes start at once: up to a tenth, and a second at the
 * most. The one is for what is lost where a hold is added to a part of a millisecond.
 */
export function spread(ms: number): number {
  return ms + 1 + Math.random() * Math.min(ms / 10, 1_000)
}
