import type { Policy } from "./policy.js"

/** How many costs other than 1 are remembered of a policy. */
const MOST = 256

/** What was derived from a policy and a cost: the same are asked for again and again. */
export class ByCost<Value> {
  readonly #ofOne = new WeakMap<Policy, Value>()
  readonly #ofOthers = new WeakMap<Policy, Map<number, Value>>()

  get(policy: Policy, cost: number): Value | undefined {
    return cost === 1 ? this.#ofOne.get(policy) : this.#ofOthers.get(policy)?.get(cost)
  }

  set(policy: Policy, cost: number, value: Value): void {
    if (cost === 1) {
      this.#ofOne.set(policy, value)
      return
    }
    let values = this.#ofOthers.get(policy)
    if (values === undefined || values.size >= MOST) {
      values = new Map()
      this.#ofOthers.set(policy, values)
    }
    values.set(cost, value)
  }
}
