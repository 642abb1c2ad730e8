import type { Policy } from "sluice"
import type { PolicyRequest, StoreReply, StoreRequest } from "sluice/store"
import { policyRef, type StateRef, stateKey } from "sluice/store"
import type { Level, State } from "../../src/algorithm.js"
import { type AnyAlgorithm, countingOf, countings } from "../../src/algorithms/index.js"
import { GRACE } from "../../src/clock.js"

/** A policy reference for tests that need only one. */
export const ref = policyRef("test", "default")

/** The TypeScript algorithms over a plain map that forgets nothing, at any given time. */
export interface Reference {
  ask(request: StoreRequest, now: number): StoreReply
  giveBack(policies: readonly PolicyRequest[], now: number, at?: number): void
  forget(stateRefs: readonly StateRef[], now: number): void
}

/** Creates a reference. Another `algorithmOf` makes it count wrong on purpose. */
export function reference(
  algorithmOf: (policy: Policy) => AnyAlgorithm = (policy) => countingOf(policy).algorithm,
): Reference {
  const states = new Map<string, State>()
  /** When states were reset, and until when that is needed. */
  const moments = new Map<string, { readonly at: number; readonly until: number }>()

  const forgottenAt = (stateRef: StateRef, now: number) => {
    const { at, until } = moments.get(stateKey(stateRef)) ?? { at: -1, until: 0 }
    return until > now && at <= now + GRACE ? at : -1
  }

  const read = (part: PolicyRequest, now: number) => {
    const { policy, cost } = part
    const algorithm = algorithmOf(policy)
    const stateRef = `${stateKey(part)}:${countingOf(policy).suffix}`
    const terms = algorithm.parameters(policy, cost)
    return { algorithm, place: stateRef, terms, view: algorithm.read(terms, states.get(stateRef), now) }
  }

  const write = (stateRef: string, state: State | undefined) => {
    if (state === undefined) states.delete(stateRef)
    else states.set(stateRef, state)
  }

  return {
    ask({ policies, count, mode }, now) {
      let granted = count
      for (const policy of policies) {
        const { algorithm, terms, view } = read(policy, now)
        granted = Math.min(granted, algorithm.room(terms, view, granted))
      }
      const levels: Level[] = policies.map((policy) => {
        const { algorithm, place: stateRef, terms, view } = read(policy, now)
        if (mode === "spend" && granted > 0) {
          write(stateRef, algorithm.take(terms, view, granted))
        }
        const mended =
          mode === "spend" && granted === 0 && view.jumped ? algorithm.save(terms, view) : undefined
        if (mended !== undefined && states.has(stateRef)) write(stateRef, mended)
        return algorithm.level(terms, view, granted < count)
      })
      return { granted, levels, at: now }
    },

    giveBack(policies, now, at) {
      for (const policy of policies) {
        const { algorithm, place: stateRef, terms, view } = read(policy, now)
        if (at !== undefined && (at <= forgottenAt(policy, now) || !algorithm.counts(terms, view, at)))
          continue
        if (states.has(stateRef)) write(stateRef, algorithm.give(terms, view, at))
      }
    },

    forget(stateRefs, now) {
      for (const stateRef of stateRefs) {
        const name = stateKey(stateRef)
        let until = 0
        for (const { suffix } of countings) {
          const state = `${name}:${suffix}`
          until = Math.max(until, states.get(state)?.expiresAt ?? 0)
          states.delete(state)
        }
        if (until <= now) continue
        const at = Math.max(now, forgottenAt(stateRef, now) + 1)
        moments.set(name, { at, until: Math.max(until, moments.get(name)?.until ?? 0) })
      }
    },
  }
}
