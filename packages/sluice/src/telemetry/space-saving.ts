// The Space-Saving sketch of Metwally, Agrawal and El Abbadi (2005): the most frequent of many keys in bounded memory.

/** A key with how often it was counted. The true number is at most `count`, and at least `count - error`. */
export interface Frequent {
  readonly key: string
  readonly count: number
  readonly error: number
}

interface Counter {
  key: string
  count: number
  error: number
  /** Its place in the heap. */
  place: number
}

/**
 * Counts keys with at most `capacity` counters. After N counts, no count is too high by more than N / capacity, and every
 * key with more than N / capacity counts has a counter.
 */
export class SpaceSaving {
  readonly #capacity: number
  readonly #byKey = new Map<string, Counter>()
  /** A heap: the least count first. */
  readonly #heap: Counter[] = []
  #total = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** How much was counted. */
  get total(): number {
    return this.#total
  }

  /** No count is too high by more than this. */
  get errorBound(): number {
    return this.#byKey.size < this.#capacity ? 0 : Math.floor(this.#total / this.#capacity)
  }

  get size(): number {
    return this.#byKey.size
  }

  add(key: string, times = 1): void {
    this.#total += times
    const known = this.#byKey.get(key)
    if (known !== undefined) {
      known.count += times
      this.#sink(known)
      return
    }
    if (this.#heap.length < this.#capacity) {
      const counter = { key, count: times, error: 0, place: this.#heap.length }
      this.#heap.push(counter)
      this.#byKey.set(key, counter)
      this.#rise(counter)
      return
    }
    const least = this.#heap[0] as Counter
    this.#byKey.delete(least.key)
    this.#byKey.set(key, least)
    least.key = key
    least.error = least.count
    least.count += times
    this.#sink(least)
  }

  /** The most frequent keys, most frequent first. */
  top(count: number): Frequent[] {
    const sorted = [...this.#heap].sort((a, b) => b.count - a.count)
    return sorted.slice(0, count).map(({ key, count, error }) => ({ key, count, error }))
  }

  /** No key beyond the first `count` was counted more often than this. */
  mostBeyond(count: number): number {
    const next = this.top(count + 1)[count]
    if (next !== undefined) return next.count
    return this.#heap.length < this.#capacity ? 0 : (this.#heap[0] as Counter).count
  }

  #sink(counter: Counter): void {
    const heap = this.#heap
    for (;;) {
      const left = 2 * counter.place + 1
      const a = heap[left]
      const b = heap[left + 1]
      const child = a !== undefined && b !== undefined && b.count < a.count ? b : a
      if (child === undefined || child.count >= counter.count) return
      this.#swap(counter, child)
    }
  }

  #rise(counter: Counter): void {
    while (counter.place > 0) {
      const parent = this.#heap[(counter.place - 1) >> 1] as Counter
      if (parent.count <= counter.count) return
      this.#swap(counter, parent)
    }
  }

  #swap(a: Counter, b: Counter): void {
    const place = a.place
    this.#heap[b.place] = a
    this.#heap[place] = b
    a.place = b.place
    b.place = place
  }
}
