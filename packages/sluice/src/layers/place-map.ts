import type { Scope } from "../state-key.js"

/** Values by limiter and key, whatever the policy. */
export class PlaceMap<Value> {
  readonly #byLimiter = new Map<string, Map<string, Value>>()
  /** The limiter that was looked for last, because most have but one, and its keys. */
  #last = ""
  #lastKeys: Map<string, Value> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get({ limiter }: Scope, key: string): Value | undefined {
    return this.#size === 0 ? undefined : this.#keysOf(limiter)?.get(key)
  }

  set({ limiter }: Scope, key: string, value: Value): void {
    let byKey = this.#byLimiter.get(limiter)
    if (byKey === undefined) {
      byKey = new Map()
      this.#byLimiter.set(limiter, byKey)
    }
    if (!byKey.has(key)) this.#size += 1
    byKey.set(key, value)
  }

  delete({ limiter }: Scope, key: string): void {
    const byKey = this.#size === 0 ? undefined : this.#byLimiter.get(limiter)
    if (byKey === undefined || !byKey.delete(key)) return
    this.#size -= 1
    if (byKey.size > 0) return
    this.#byLimiter.delete(limiter)
    this.#lastKeys = undefined
  }

  #keysOf(limiter: string): Map<string, Value> | undefined {
    if (limiter !== this.#last || this.#lastKeys === undefined) {
      this.#last = limiter
      this.#lastKeys = this.#byLimiter.get(limiter)
    }
    return this.#lastKeys
  }

  *values(): Generator<Value> {
    for (const byKey of this.#byLimiter.values()) yield* byKey.values()
  }
}
