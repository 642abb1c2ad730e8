import type { Algorithm, State } from "../../src/algorithm.js"
import type { Policy } from "../../src/policy.js"

/** One key under a policy, in the pure step: spends what fits and says how that left it. Times are microseconds. */
export function held<Terms, S extends State, View>(algorithm: Algorithm<Terms, S, View>, policy: Policy) {
  let state: S | undefined
  return {
    spend(at: number, units = 1, count = 1, under = policy) {
      const terms = algorithm.terms(under, units)
      const view = algorithm.read(terms, state, at)
      const granted = algorithm.room(terms, view, count)
      if (granted > 0) state = algorithm.take(terms, view, granted)
      else state = algorithm.mend(terms, view) ?? state
      return { granted, ...algorithm.explain(terms, algorithm.tell(terms, view, granted < count)) }
    },
    give(at: number, units: number) {
      const terms = algorithm.terms(policy, units)
      state = algorithm.give(terms, algorithm.read(terms, state, at), true)
    },
    state: () => state,
  }
}
