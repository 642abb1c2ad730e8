import type { Place } from "../state-key.js"

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

  get({ scope, key }: Place): Value | undefined {
    return this.#size === 0 ? undefined : this.#keysOf(scope.limiter)?.get(key)
  }

  set({ scope, key }: Place, value: Value): void {
    let byKey = this.#byLimiter.get(scope.limiter)
    if (byKey === undefined) {
      byKey = new Map()
      this.#byLimiter.set(scope.limiter, byKey)
    }
    if (!byKey.has(key)) this.#size += 1
    byKey.set(key, value)
  }

  delete({ scope, key }: Place): void {
    const byKey = this.#size === 0 ? undefined : this.#byLimiter.get(scope.limiter)
    if (byKey === undefined || !byKey.delete(key)) return
    this.#size -= 1
    if (byKey.size > 0) return
    this.#byLimiter.delete(scope.limiter)
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
