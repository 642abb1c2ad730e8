import type { Algorithm, State, View } from "../algorithm.js"
import { ByCost } from "../by-cost.js"
import type { Policy } from "../policy.js"
import * as policies from "../policy.js"
import { bucket } from "./bucket/bucket.js"
import { fixedWindow } from "./fixed-window/fixed-window.js"
import { log } from "./log/log.js"

/** An algorithm whose parameters, state and view only it can read. */
export type AnyAlgorithm = Algorithm<unknown, State, View>

/** How the policies of one `algorithm` count. */
export interface Counting {
  readonly algorithm: AnyAlgorithm
  /** The suffix of its keys, so that no policy ever reads the state of another algorithm. */
  readonly suffix: string
  /** Some policy of this algorithm. A reset uses it to delete the state of each algorithm. */
  readonly sample: Policy
}

const counting: Record<Policy["algorithm"], Counting> = {
  fixedWindow: {
    algorithm: fixedWindow as AnyAlgorithm,
    suffix: "fw",
    sample: policies.fixedWindow({ limit: 1, window: 1 }),
  },
  slidingLog: {
    algorithm: log as AnyAlgorithm,
    suffix: "sl",
    sample: policies.slidingLog({ limit: 1, window: 1 }),
  },
  slidingWindow: {
    algorithm: log as AnyAlgorithm,
    suffix: "sw",
    sample: policies.slidingWindow({ limit: 1, window: 1 }),
  },
  tokenBucket: {
    algorithm: bucket as AnyAlgorithm,
    suffix: "tb",
    sample: policies.tokenBucket({ capacity: 1, refill: 1, every: 1 }),
  },
  leakyBucket: {
    algorithm: bucket as AnyAlgorithm,
    suffix: "lb",
    sample: policies.leakyBucket({ capacity: 1, leak: 1, every: 1 }),
  },
}

/** All algorithms. A key can have one state for each. */
export const countings: readonly Counting[] = Object.values(counting)

/** How a policy counts. A store needs this to run it. */
export function countingOf(policy: Policy): Counting {
  return counting[policy.algorithm]
}

/** The algorithm of a policy. */
export function algorithmOf(policy: Policy): AnyAlgorithm {
  return counting[policy.algorithm].algorithm
}

const known = new ByCost<unknown>()
let last: { readonly policy: Policy; readonly cost: number; readonly parameters: unknown } | undefined

/** The parameters of a policy and a cost. They are derived once, because a bucket has to find a divisor. */
export function parametersOf(policy: Policy, cost: number): unknown {
  if (last !== undefined && last.policy === policy && last.cost === cost) return last.parameters
  let parameters = known.get(policy, cost)
  if (parameters === undefined) {
    parameters = counting[policy.algorithm].algorithm.parameters(policy, cost)
    known.set(policy, cost, parameters)
  }
  last = { policy, cost, parameters }
  return parameters
}
