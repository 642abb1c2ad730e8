import type { PolicyRequest } from "../store.js"

/** How many of the oldest entries are compared to evict one. */
const SAMPLE = 8

/** The spends of one state without the store, by algorithm. */
type Spends = Map<string, PolicyRequest>

/**
 * The keys that spent units without the store, up to a maximum. Expired entries are dropped little by little. When it is full,
 * it compares a few of the oldest entries and evicts the one with the smallest share spent. So an exhausted key outlives keys
 * that were used once, and a client cannot evict it with made-up keys.
 */
export class LocalSpends {
  readonly #most: number
  readonly #shareOf: (part: PolicyRequest) => number
  readonly #byName = new Map<string, Spends>()

  /** `shareOf` returns the spent share of the limit, 0 if nothing counts any more. */
  constructor(most: number, shareOf: (part: PolicyRequest) => number) {
    this.#most = most
    this.#shareOf = shareOf
  }

  get size(): number {
    return this.#byName.size
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  add(name: string, algorithm: string, part: PolicyRequest): void {
    const known = this.#byName.get(name)
    if (known !== undefined) {
      known.set(algorithm, part)
      return
    }
    this.age()
    if (this.#byName.size >= this.#most) this.#evict()
    this.#byName.set(name, new Map([[algorithm, part]]))
  }

  take(name: string): PolicyRequest[] {
    const known = this.#byName.get(name)
    this.#byName.delete(name)
    return known === undefined ? [] : [...known.values()]
  }

  /** Checks the oldest entry. Drops it if it has expired, otherwise moves it to the end. */
  age(): void {
    for (const [name, spends] of this.#byName) {
      this.#byName.delete(name)
      if (this.#shareSpent(spends) > 0) this.#byName.set(name, spends)
      return
    }
  }

  #evict(): void {
    const oldest: { name: string; spends: Spends; share: number }[] = []
    for (const [name, spends] of this.#byName) {
      oldest.push({ name, spends, share: this.#shareSpent(spends) })
      if (oldest.length === SAMPLE) break
    }
    const least = oldest.reduce((a, b) => (b.share < a.share ? b : a))
    for (const { name, spends } of oldest) {
      this.#byName.delete(name)
      if (name !== least.name) this.#byName.set(name, spends)
    }
  }

  #shareSpent(spends: Spends): number {
    return Math.max(...[...spends.values()].map(this.#shareOf))
  }
}
