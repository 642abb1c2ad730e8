import type { Policy } from "sluice"
import type { BucketParameters } from "../../src/algorithms/bucket/bucket-parameters.js"
import type { BucketState, BucketView } from "../../src/algorithms/bucket/bucket-state.js"
import type { AnyAlgorithm } from "../../src/algorithms/index.js"
import type { LogView } from "../../src/algorithms/log/log.js"
import type { LogParameters, LogState } from "../../src/algorithms/log/log-state.js"
import type { Kind } from "../support/policy-kinds.js"

/** A planted bug that admits too much. */
export interface Breakage {
  readonly name: string
  broken(algorithm: AnyAlgorithm): AnyAlgorithm
}

/** The planted bugs of each kind of policy that the search must find. */
export function breakages(kind: Kind): Breakage[] {
  const everywhere = [oneUnitMore, aMillisecondShort]
  switch (kind) {
    case "fixedWindow first":
    case "fixedWindow clock":
    case "slidingLog":
      return [...everywhere, aMicrosecondShort]
    case "slidingWindow":
      return [...everywhere, aMicrosecondShort, mergedIntoTheOldest]
    case "tokenBucket interval":
      return [...everywhere, stepsFromTheLastGrant]
    default:
      return [...everywhere, aMicrosecondDeeper]
  }
}

const oneUnitMore = otherPolicy("one unit more", (policy) =>
  "limit" in policy ? { ...policy, limit: policy.limit + 1 } : { ...policy, capacity: policy.capacity + 1 },
)

const aMillisecondShort = otherPolicy("a period one millisecond short", (policy) =>
  "window" in policy
    ? { ...policy, window: Math.max(policy.window - 1, 1) }
    : { ...policy, every: Math.max(policy.every - 1, 1) },
)

const aMicrosecondShort = otherTerms<LogParameters>("a window one microsecond short", (terms) => ({
  ...terms,
  window: terms.window - 1,
}))

const aMicrosecondDeeper = otherTerms<BucketParameters>("a bucket one microsecond deeper", (terms) => ({
  ...terms,
  span: terms.span + 1,
}))

/** Expires a sub-window by its start, so that units leave before they are one window old. */
const mergedIntoTheOldest: Breakage = {
  name: "a merged entry that keeps its oldest time",
  broken: (algorithm) => ({
    ...algorithm,
    take(parameters, view, granted) {
      const { last, spent } = view as LogView
      const { merge } = parameters as LogParameters
      const state = algorithm.take(parameters, view, granted) as LogState
      const merges = spent > 0 && Math.floor(last / merge) === Math.floor((view as LogView).now / merge)
      if (merges) state.at[state.at.length - 1] = last
      return state
    },
  }),
}

const stepsFromTheLastGrant: Breakage = {
  name: "steps that are counted from the last grant",
  broken: (algorithm) => ({
    ...algorithm,
    take(parameters, view, granted) {
      const state = algorithm.take(parameters, view, granted) as BucketState
      return { ...state, anchor: (view as BucketView).now, lapsesAt: 0 } as BucketState
    },
  }),
}

function otherPolicy(name: string, change: (policy: Policy) => Policy): Breakage {
  return {
    name,
    broken: (algorithm) => ({
      ...algorithm,
      parameters: (policy, cost) => algorithm.parameters(change(policy), cost),
    }),
  }
}

function otherTerms<Terms>(name: string, change: (terms: Terms) => Terms): Breakage {
  return {
    name,
    broken: (algorithm) => ({
      ...algorithm,
      parameters: (policy, cost) => change(algorithm.parameters(policy, cost) as Terms),
    }),
  }
}
