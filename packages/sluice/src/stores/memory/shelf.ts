import type { State } from "../../algorithm.js"

interface Slot {
  readonly key: string
  state: State
  /** Whether the last ask of it was denied. */
  denied: boolean
  place: number
}

/** How many slots are looked at to clear expired ones with each new key. */
const SWEEP = 2
/** How many slots are looked at to make room when the shelf is full. */
const CANDIDATES = 16

/**
 * States by key, at most `most` of them, without a timer. Each new key clears up after a few others as a
 * hand goes round; on a full shelf the new key takes the place of the least needed of the next few:
 * an expired one, else the one nearest to expiry, and one that was denied last only if all were.
 */
export class Shelf {
  readonly #most: number
  readonly #slots = new Map<string, Slot>()
  /** The same slots without gaps, for the hand to go round. */
  readonly #round: Slot[] = []
  #hand = 0

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#slots.size
  }

  get(key: string): State | undefined {
    return this.#slots.get(key)?.state
  }

  set(key: string, state: State, now: number): void {
    const slot = this.#slots.get(key)
    if (slot !== undefined) {
      slot.state = state
      slot.denied = false
      return
    }
    this.#sweep(now)
    if (this.#slots.size >= this.#most) this.delete(this.#leastNeeded(now).key)
    const added = { key, state, denied: false, place: this.#round.length }
    this.#slots.set(key, added)
    this.#round.push(added)
  }

  markDenied(key: string): void {
    const slot = this.#slots.get(key)
    if (slot !== undefined) slot.denied = true
  }

  delete(key: string): void {
    const slot = this.#slots.get(key)
    if (slot === undefined) return
    this.#slots.delete(key)
    const last = this.#round.pop() as Slot
    if (last !== slot) {
      this.#round[slot.place] = last
      last.place = slot.place
    }
  }

  #next(): Slot {
    this.#hand = (this.#hand + 1) % this.#round.length
    return this.#round[this.#hand] as Slot
  }

  #sweep(now: number): void {
    for (let i = 0; i < SWEEP && this.#round.length > 0; i += 1) {
      const slot = this.#next()
      if (slot.state.expiresAt <= now) this.delete(slot.key)
    }
  }

  #leastNeeded(now: number): Slot {
    const need = ({ state, denied }: Slot) => (state.expiresAt <= now ? 0 : denied ? 2 : 1)
    let least = this.#next()
    for (let i = 1; i < Math.min(CANDIDATES, this.#round.length); i += 1) {
      const slot = this.#next()
      const difference = need(slot) - need(least) || slot.state.expiresAt - least.state.expiresAt
      if (difference < 0) least = slot
    }
    return least
  }
}
