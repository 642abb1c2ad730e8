import type { Answer, Ask, Part, Policy } from "sluice"
import { type Place, scopeOf, stateKey } from "sluice"
import type { Level, State } from "../../src/algorithm.js"
import { type AnyAlgorithm, countingOf, suffixes } from "../../src/algorithms/index.js"

/** A scope for tests that need only one. */
export const scope = scopeOf("test", "default")

/** The TypeScript steps over a plain map that forgets nothing, at whatever time it is told. */
export interface Reference {
  ask(ask: Ask, now: number): Answer
  giveBack(parts: readonly Part[], now: number, at?: number): void
  forget(places: readonly Place[]): void
}

/** Creates a reference; another `algorithmOf` makes it count wrong on purpose. */
export function reference(
  algorithmOf: (policy: Policy) => AnyAlgorithm = (policy) => countingOf(policy).algorithm,
): Reference {
  const states = new Map<string, State>()

  const read = (part: Part, now: number) => {
    const { policy, cost } = part
    const algorithm = algorithmOf(policy)
    const place = `${stateKey(part)}:${countingOf(policy).suffix}`
    const terms = algorithm.terms(policy, cost)
    return { algorithm, place, terms, view: algorithm.read(terms, states.get(place), now) }
  }

  const keep = (place: string, state: State | undefined) => {
    if (state === undefined) states.delete(place)
    else states.set(place, state)
  }

  return {
    ask({ parts, count, mode }, now) {
      const looked = parts.map((part) => read(part, now))
      let granted = count
      for (const { algorithm, terms, view } of looked) {
        granted = Math.min(granted, algorithm.room(terms, view, granted))
      }
      const levels: Level[] = looked.map(({ algorithm, place, terms, view }) => {
        if (mode === "spend" && granted > 0) keep(place, algorithm.take(terms, view, granted))
        if (mode === "spend" && granted === 0) {
          const mended = algorithm.mend(terms, view)
          if (mended !== undefined) keep(place, mended)
        }
        return algorithm.tell(terms, view, granted < count)
      })
      return { granted, levels, at: now }
    },

    giveBack(parts, now, at) {
      for (const part of parts) {
        const { algorithm, place, terms, view } = read(part, now)
        if (at !== undefined && !algorithm.counts(terms, view, at)) continue
        keep(place, algorithm.give(terms, view, at === undefined))
      }
    },

    forget(places) {
      for (const place of places) for (const suffix of suffixes) states.delete(`${stateKey(place)}:${suffix}`)
    },
  }
}
