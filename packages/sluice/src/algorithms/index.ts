import { ByCost } from "../by-cost.js"
import type { AnyAlgorithm, Counting } from "./policy-kind.js"
import registry, { type Policy } from "./registry.js"

export type { AnyAlgorithm, Counting } from "./policy-kind.js"

/** All algorithms. A key can have one state for each. */
export const countings: readonly Counting[] = Object.values(registry)

/** How a policy counts. A store needs this to run it. */
export function countingOf(policy: Policy): Counting {
  return registry[policy.algorithm]
}

/** The algorithm of a policy. */
export function algorithmOf(policy: Policy): AnyAlgorithm {
  return registry[policy.algorithm].algorithm
}

const known = new ByCost<unknown>()
let last: { readonly policy: Policy; readonly cost: number; readonly parameters: unknown } | undefined

/** The parameters of a policy and a cost. They are derived once, because a bucket has to find a divisor. */
export function parametersOf(policy: Policy, cost: number): unknown {
  if (last !== undefined && last.policy === policy && last.cost === cost) return last.parameters
  let parameters = known.get(policy, cost)
  if (parameters === undefined) {
    parameters = registry[policy.algorithm].algorithm.parameters(policy, cost)
    known.set(policy, cost, parameters)
  }
  last = { policy, cost, parameters }
  return parameters
}
