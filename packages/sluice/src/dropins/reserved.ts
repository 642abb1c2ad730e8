import { flatCopy } from "../flat-copy.js"
import type { Hit } from "./counter.js"

/** How many keys are remembered, and how many hits per key. */
const MAX_KEYS = 10_000
const MAX_HITS = 1_000

interface Entry {
  /** Functions that take a hit back, oldest first. */
  readonly granted: (() => Promise<unknown>)[]
  denied: number
  /** When no hit of the entry counts any more. */
  until: number
}

/** The hits of this process that a peer can take back. `decrement(key)` does not say which hit, so it takes back the newest. */
export class Reserved {
  readonly #entries = new Map<string, Entry>()
  readonly #denialsTakenBack: boolean

  /** `denialsTakenBack`: the peer also takes back denied hits, although they were never counted. */
  constructor(denialsTakenBack: boolean) {
    this.#denialsTakenBack = denialsTakenBack
  }

  add(key: string, { allowed, resetAfter }: Hit, takeBack: () => Promise<unknown>): void {
    const now = Date.now()
    const found = this.#entries.get(key)
    const entry = found !== undefined && now < found.until ? found : { granted: [], denied: 0, until: 0 }
    entry.until = Math.max(entry.until, now + resetAfter)
    if (!allowed) entry.denied += this.#denialsTakenBack ? 1 : 0
    else if (entry.granted.push(takeBack) > MAX_HITS) entry.granted.shift()
    // Move the key to the end, so that the first key is the least recently used.
    this.#entries.delete(key)
    this.#entries.set(flatCopy(key), entry)
    if (this.#entries.size <= MAX_KEYS) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }

  async takeBack(key: string): Promise<void> {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    // The peer does not say which hit. Assume a denied one first: that gives nothing back, which is the safe error.
    if (entry.denied > 0) entry.denied -= 1
    else await entry.granted.pop()?.()
  }

  forget(key: string): void {
    this.#entries.delete(key)
  }
}
