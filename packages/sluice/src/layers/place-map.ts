import type { Place } from "../state-key.js"

/** Values by limiter and key, whatever the policy. */
export class PlaceMap<Value> {
  readonly #byLimiter = new Map<string, Map<string, Value>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get({ scope, key }: Place): Value | undefined {
    return this.#size === 0 ? undefined : this.#byLimiter.get(scope.limiter)?.get(key)
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
    if (byKey.size === 0) this.#byLimiter.delete(scope.limiter)
  }

  *values(): Generator<Value> {
    for (const byKey of this.#byLimiter.values()) yield* byKey.values()
  }
}
