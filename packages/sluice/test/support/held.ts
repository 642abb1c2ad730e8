import type { Algorithm, State, View } from "../../src/algorithm.js"
import type { Policy } from "../../src/policy.js"

/** One key under a policy, with the algorithm alone: spends what fits and returns its level. Times are microseconds. */
export function held<Parameters, S extends State, V extends View>(
  algorithm: Algorithm<Parameters, S, V>,
  policy: Policy,
) {
  let state: S | undefined
  return {
    spend(at: number, units = 1, count = 1, under = policy) {
      const parameters = algorithm.parameters(under, units)
      const view = algorithm.read(parameters, state, at)
      const granted = algorithm.room(parameters, view, count)
      if (granted > 0) state = algorithm.take(parameters, view, granted)
      else if (view.jumped) state = algorithm.save(parameters, view) ?? state
      return { granted, ...algorithm.explain(parameters, algorithm.level(parameters, view, granted < count)) }
    },
    give(at: number, units: number) {
      if (state === undefined) return
      const parameters = algorithm.parameters(policy, units)
      state = algorithm.give(parameters, algorithm.read(parameters, state, at), undefined)
    },
    state: () => state,
    expiresAt: () => state?.expiresAt ?? 0,
  }
}
