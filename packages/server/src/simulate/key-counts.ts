export interface KeyCount {
  requests: number
  denied: number
  /** The most requests in one second. */
  peak: number
  second: number
  inSecond: number
}

/**
 * Counts requests by key in bounded memory: it remembers at least the `capacity` keys that were seen last. Two tables take turns. A
 * key that is used moves to the young one, and the old one is dropped when the young one is full.
 */
export class KeyCounts {
  readonly #capacity: number
  #young = new Map<string, KeyCount>()
  #old = new Map<string, KeyCount>()
  /** Whether keys were dropped, so that counts of rare keys may be too low. */
  hasForgotten = false

  constructor(capacity = 200_000) {
    this.#capacity = capacity
  }

  add(key: string, time: number, isDenied: boolean): void {
    const count = this.#of(key)
    const second = Math.floor(time / 1_000)
    count.inSecond = count.second === second ? count.inSecond + 1 : 1
    count.second = second
    count.peak = Math.max(count.peak, count.inSecond)
    count.requests += 1
    if (isDenied) count.denied += 1
  }

  /** The keys with the most denials. */
  mostDenied(most: number): ({ key: string } & KeyCount)[] {
    const denied: ({ key: string } & KeyCount)[] = []
    for (const counts of [this.#young, this.#old]) {
      for (const [key, count] of counts) if (count.denied > 0) denied.push({ key, ...count })
    }
    return denied.sort((a, b) => b.denied - a.denied || b.requests - a.requests).slice(0, most)
  }

  #of(key: string): KeyCount {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    const count = old ?? { requests: 0, denied: 0, peak: 0, second: Number.NaN, inSecond: 0 }
    if (old !== undefined) this.#old.delete(key)
    if (this.#young.size >= this.#capacity) {
      this.hasForgotten ||= this.#old.size > 0
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(flat(key), count)
    return count
  }
}

/** A copy that does not keep the chunk of the log alive which the key is a part of. */
function flat(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le")
}
