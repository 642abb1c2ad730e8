import type { Algorithm, Cells } from "../algorithm.js"
import { ByCost } from "../by-cost.js"
import type { Policy } from "../policy.js"
import { bucket } from "./bucket/bucket.js"
import { fixedWindow } from "./fixed-window/fixed-window.js"
import { log } from "./log/log.js"

/** An algorithm whose terms, state and view only it can read. */
export type AnyAlgorithm = Algorithm<unknown, Cells, unknown>

/** How the policies of one `algorithm` count. */
export interface Counting {
  readonly algorithm: AnyAlgorithm
  /** Ends the keys of its state, so that no policy ever reads the state of another algorithm. */
  readonly suffix: string
}

const counting: Record<Policy["algorithm"], Counting> = {
  fixedWindow: { algorithm: fixedWindow as AnyAlgorithm, suffix: "fw" },
  slidingLog: { algorithm: log as AnyAlgorithm, suffix: "sl" },
  slidingWindow: { algorithm: log as AnyAlgorithm, suffix: "sw" },
  tokenBucket: { algorithm: bucket as AnyAlgorithm, suffix: "tb" },
  leakyBucket: { algorithm: bucket as AnyAlgorithm, suffix: "lb" },
}

/** Every way to count: what is kept under a key is kept under these. */
export const countings: readonly Counting[] = Object.values(counting)

/** How a policy counts; what a store needs to run it. */
export function countingOf(policy: Policy): Counting {
  return counting[policy.algorithm]
}

const knownTerms = new ByCost<unknown>()
let last: { readonly policy: Policy; readonly cost: number; readonly terms: unknown } | undefined

/** The terms of a policy and a cost. */
export function termsOf(policy: Policy, cost: number): unknown {
  if (last !== undefined && last.policy === policy && last.cost === cost) return last.terms
  let terms = knownTerms.get(policy, cost)
  if (terms === undefined) {
    terms = counting[policy.algorithm].algorithm.terms(policy, cost)
    knownTerms.set(policy, cost, terms)
  }
  last = { policy, cost, terms }
  return terms
}
