import type { Numbers } from "../../algorithm.js"
import { type AnyAlgorithm, type Counting, countings } from "../../algorithms/index.js"
import { GRACE } from "../../clock.js"
import type { Place } from "../../state-key.js"
import type { Shelf } from "./shelf.js"

/** Told apart from states as one algorithm is from another. */
const moments = { algorithm: { inNumbers: true } as AnyAlgorithm, suffix: "fg" } satisfies Counting

/**
 * Forgets places, and notes when, for as long as what was spent there would have counted: a debit from before must not
 * be given back to those who spend after.
 */
export class Forgotten {
  readonly #shelf: Shelf

  constructor(shelf: Shelf) {
    this.#shelf = shelf
  }

  forget(place: Place, now: number): void {
    const shelf = this.#shelf
    const { scope, key } = place
    let until = 0
    for (const counting of countings) {
      const slot = shelf.find(scope, counting, key)
      if (slot === undefined) continue
      until = Math.max(until, shelf.expiresAt(slot))
      shelf.remove(slot)
    }
    if (until <= now) return
    const at = this.since([place], now)
    const slot = shelf.findOrAdd(scope, moments, key, now)
    const { near } = shelf.cells(slot, moments.algorithm) as Numbers
    near[shelf.cell(slot, moments.algorithm)] = at
    shelf.written(slot, Math.max(until, shelf.expiresAt(slot)))
  }

  /** When any of these places was forgotten last; less than any time if none was. */
  last(places: readonly Place[], now: number): number {
    const shelf = this.#shelf
    let last = -1
    for (const { scope, key } of places) {
      const slot = shelf.find(scope, moments, key)
      if (slot === undefined) continue
      const { near } = shelf.cells(slot, moments.algorithm) as Numbers
      const at = near[shelf.cell(slot, moments.algorithm)] as number
      // later than now: the clock went back
      if (shelf.expiresAt(slot) > now && at <= now + GRACE) last = Math.max(last, at)
    }
    return last
  }

  /** Now, as a time at which none of these places has been forgotten. */
  since(places: readonly Place[], now: number): number {
    return Math.max(now, this.last(places, now) + 1)
  }

  /** Those of these places that were not forgotten since some moment. */
  after<P extends Place>(moment: number, places: readonly P[], now: number): P[] {
    return places.filter((place) => moment > this.last([place], now))
  }
}
