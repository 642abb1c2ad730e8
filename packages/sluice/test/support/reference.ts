import type { Answer, Ask, Part, Policy } from "sluice"
import { type Place, scopeOf, stateKey } from "sluice"
import { type Cells, type Level, zeros } from "../../src/algorithm.js"
import { type AnyAlgorithm, countingOf, countings } from "../../src/algorithms/index.js"

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
  const states = new Map<string, Cells>()

  const read = (part: Part, now: number) => {
    const { policy, cost } = part
    const algorithm = algorithmOf(policy)
    const place = `${stateKey(part)}:${countingOf(policy).suffix}`
    const terms = algorithm.terms(policy, cost)
    return { algorithm, place, terms, view: algorithm.read(terms, states.get(place), 0, now) }
  }

  const cellsOf = (algorithm: AnyAlgorithm, place: string) => {
    const cells = states.get(place) ?? emptyCells(algorithm)
    states.set(place, cells)
    return cells
  }

  return {
    ask({ parts, count, mode }, now) {
      let granted = count
      for (const part of parts) {
        const { algorithm, terms, view } = read(part, now)
        granted = Math.min(granted, algorithm.room(terms, view, granted))
      }
      const levels: Level[] = parts.map((part) => {
        const { algorithm, place, terms, view } = read(part, now)
        if (mode === "spend" && granted > 0) {
          algorithm.take(terms, view, granted, cellsOf(algorithm, place), 0)
        }
        if (mode === "spend" && granted === 0) {
          const cells = states.get(place)
          if (cells !== undefined) algorithm.mend(terms, view, cells, 0)
        }
        return algorithm.tell(terms, view, granted < count)
      })
      return { granted, levels, at: now }
    },

    giveBack(parts, now, at) {
      for (const part of parts) {
        const { algorithm, place, terms, view } = read(part, now)
        if (at !== undefined && !algorithm.counts(terms, view, at)) continue
        const cells = states.get(place)
        if (cells === undefined) continue
        if (algorithm.give(terms, view, at, cells, 0) === 0) states.delete(place)
      }
    },

    forget(places) {
      for (const place of places)
        for (const { suffix } of countings) states.delete(`${stateKey(place)}:${suffix}`)
    },
  }
}

/** Room for the state of one key. */
export function emptyCells({ inNumbers }: Pick<AnyAlgorithm, "inNumbers">): Cells {
  return inNumbers ? zeros() : []
}
