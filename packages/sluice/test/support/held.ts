import type { Algorithm, Cells } from "../../src/algorithm.js"
import type { Policy } from "../../src/policy.js"
import { emptyCells } from "./reference.js"

/** One key under a policy, in the pure step: spends what fits and says how that left it. Times are microseconds. */
export function held<Terms, C extends Cells, View>(algorithm: Algorithm<Terms, C, View>, policy: Policy) {
  let cells: C | undefined
  let expiresAt = 0
  return {
    spend(at: number, units = 1, count = 1, under = policy) {
      const terms = algorithm.terms(under, units)
      const view = algorithm.read(terms, cells, 0, at)
      const granted = algorithm.room(terms, view, count)
      if (granted > 0) {
        cells ??= emptyCells(algorithm) as C
        expiresAt = algorithm.take(terms, view, granted, cells, 0)
      } else if (cells !== undefined) expiresAt = algorithm.mend(terms, view, cells, 0) || expiresAt
      return { granted, ...algorithm.explain(terms, algorithm.tell(terms, view, granted < count)) }
    },
    give(at: number, units: number) {
      if (cells === undefined) return
      const terms = algorithm.terms(policy, units)
      expiresAt = algorithm.give(terms, algorithm.read(terms, cells, 0, at), undefined, cells, 0)
      if (expiresAt === 0) cells = undefined
    },
    cells: () => cells,
    expiresAt: () => expiresAt,
  }
}
