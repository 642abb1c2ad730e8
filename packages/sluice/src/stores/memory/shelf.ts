import type { Counting } from "../../algorithms/index.js"
import type { Scope } from "../../state-key.js"
import { hashOf } from "./key-hash.js"
import { Slots } from "./slots.js"

/** How many slots are looked at to clear expired ones with each new key. */
const SWEEP = 2
/** Microseconds that a state is left alone after it has expired: a key in use soon needs its slot again. */
const LINGER = 1_000_000
/** How many slots are looked at to make room when the shelf is full. */
const CANDIDATES = 16

/**
 * States by place, at most `most` of them, without a timer. Each new key clears up after a few others as a
 * hand goes round; on a full shelf the new key takes the place of the least needed of the next few:
 * an expired one, else the one nearest to expiry, and one that was denied last only if all were.
 */
export class Shelf extends Slots {
  readonly #most: number
  readonly #linger: number
  #hand = 0

  /** What has expired is left alone for `linger` microseconds. */
  constructor(most: number, linger = LINGER) {
    super()
    this.#most = most
    this.#linger = linger
  }

  /** The slot of a key, until a key is added or removed. */
  find(scope: Scope, counting: Counting, key: string): number | undefined {
    return this.slotOf(hashOf(scope, counting, key))
  }

  /** The slot of a key, with a state of zeros if it is new: it must be written then. */
  findOrAdd(scope: Scope, counting: Counting, key: string, now: number): number {
    const hash = hashOf(scope, counting, key)
    const slot = this.slotOf(hash)
    if (slot !== undefined) return slot
    this.#sweep(now)
    if (this.size >= this.#most) this.remove(this.#leastNeeded(now))
    return this.add(hash)
  }

  #next(): number {
    // no remainder, which would take as long as the look
    this.#hand = this.#hand + 1 < this.size ? this.#hand + 1 : 0
    return this.#hand
  }

  #sweep(now: number): void {
    for (let i = 0; i < SWEEP && this.size > 0; i += 1) {
      const slot = this.#next()
      if (this.expiresAt(slot) + this.#linger <= now) this.remove(slot)
    }
  }

  #leastNeeded(now: number): number {
    const need = (slot: number) => (this.expiresAt(slot) <= now ? 0 : this.denied(slot) ? 2 : 1)
    let least = this.#next()
    for (let i = 1; i < Math.min(CANDIDATES, this.size); i += 1) {
      const slot = this.#next()
      const difference = need(slot) - need(least) || this.expiresAt(slot) - this.expiresAt(least)
      if (difference < 0) least = slot
    }
    return least
  }
}
