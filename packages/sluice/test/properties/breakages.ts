import type { Policy } from "sluice"
import type { Numbers } from "../../src/algorithm.js"
import { ANCHOR, type BucketView, LAPSES_AT } from "../../src/algorithms/bucket/bucket-state.js"
import type { BucketTerms } from "../../src/algorithms/bucket/bucket-terms.js"
import type { AnyAlgorithm } from "../../src/algorithms/index.js"
import type { LogView } from "../../src/algorithms/log/log.js"
import type { LogState, LogTerms } from "../../src/algorithms/log/log-state.js"
import type { Kind } from "../support/policy-kinds.js"

/** A way to count wrong, in favour of whoever asks. */
export interface Breakage {
  readonly name: string
  broken(algorithm: AnyAlgorithm): AnyAlgorithm
}

/** The ways to break a kind that a search for too many grants must notice. */
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

const aMicrosecondShort = otherTerms<LogTerms>("a window one microsecond short", (terms) => ({
  ...terms,
  window: terms.window - 1,
}))

const aMicrosecondDeeper = otherTerms<BucketTerms>("a bucket one microsecond deeper", (terms) => ({
  ...terms,
  span: terms.span + 1,
}))

/** What weighs a sub-window by its beginning: units leave before they are a window old. */
const mergedIntoTheOldest: Breakage = {
  name: "a merged entry that keeps its oldest time",
  broken: (algorithm) => ({
    ...algorithm,
    take(terms, view, granted, cells, cell) {
      const { last, total } = view as LogView
      const { merge } = terms as LogTerms
      const expiresAt = algorithm.take(terms, view, granted, cells, cell)
      const state = (cells as LogState[])[cell] as LogState
      const merges = total > 0 && Math.floor(last / merge) === Math.floor((view as LogView).now / merge)
      if (merges) state.at[state.at.length - 1] = last
      return expiresAt
    },
  }),
}

const stepsFromTheLastGrant: Breakage = {
  name: "steps that are counted from the last grant",
  broken: (algorithm) => ({
    ...algorithm,
    take(terms, view, granted, cells, cell) {
      const expiresAt = algorithm.take(terms, view, granted, cells, cell)
      const far = (cells as Numbers).far()
      far[cell + ANCHOR] = (view as BucketView).now
      far[cell + LAPSES_AT] = 0
      return expiresAt
    },
  }),
}

function otherPolicy(name: string, change: (policy: Policy) => Policy): Breakage {
  return {
    name,
    broken: (algorithm) => ({
      ...algorithm,
      terms: (policy, cost) => algorithm.terms(change(policy), cost),
    }),
  }
}

function otherTerms<Terms>(name: string, change: (terms: Terms) => Terms): Breakage {
  return {
    name,
    broken: (algorithm) => ({
      ...algorithm,
      terms: (policy, cost) => change(algorithm.terms(policy, cost) as Terms),
    }),
  }
}
