import { shown } from "../errors.js"

/**
 * The places in a queue that all keys share. A key may hold at most as many places as are still free, so it never fills the
 * queue. One busy key alone gets half of the places. Two busy keys get a third each.
 */
export class QueueRoom {
  readonly #most: number
  readonly #byKey = new Map<string, number>()
  #size = 0

  constructor(most: number) {
    this.#most = most
  }

  hasRoom(key: string): boolean {
    return (this.#byKey.get(key) ?? 0) < this.#most - this.#size
  }

  /** Takes a place for a key. The returned function frees it, and may be called more than once. */
  take(key: string): () => void {
    this.#size += 1
    this.#byKey.set(key, (this.#byKey.get(key) ?? 0) + 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#size -= 1
      const left = (this.#byKey.get(key) as number) - 1
      if (left > 0) this.#byKey.set(key, left)
      else this.#byKey.delete(key)
    }
  }

  /** The error message for a key without room: whether the queue or the key's share is full, and when to retry. */
  refusal(key: string, limiter: string, retryIn: number): string {
    const [count, whose, bound] =
      this.#size >= this.#most
        ? [this.#size, "", "as many as maxWaiters allows"]
        : [this.#byKey.get(key) ?? 0, " for this key", `its share of maxWaiters, ${this.#most}`]
    const wait = count === 1 ? `1 request${whose} waits` : `${count} requests${whose} wait`
    const advice = `retry in ${Math.ceil(retryIn)} ms, shed the work, or raise maxWaiters`
    return `queue full: ${wait} in limiter ${shown(limiter)}, ${bound}; ${advice}`
  }
}
