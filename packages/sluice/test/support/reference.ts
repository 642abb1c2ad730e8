import type { Answer, Ask, Part, Policy } from "sluice"
import { type Place, scopeOf, stateKey } from "sluice"
import { type Cells, type Level, zeros } from "../../src/algorithm.js"
import { type AnyAlgorithm, countingOf, countings } from "../../src/algorithms/index.js"
import { GRACE } from "../../src/clock.js"

/** A scope for tests that need only one. */
export const scope = scopeOf("test", "default")

/** The TypeScript steps over a plain map that forgets nothing, at whatever time it is told. */
export interface Reference {
  ask(ask: Ask, now: number): Answer
  giveBack(parts: readonly Part[], now: number, at?: number): void
  forget(places: readonly Place[], now: number): void
}

/** Creates a reference; another `algorithmOf` makes it count wrong on purpose. */
export function reference(
  algorithmOf: (policy: Policy) => AnyAlgorithm = (policy) => countingOf(policy).algorithm,
): Reference {
  const states = new Map<string, Cells>()
  /** Until when a state matters. */
  const untils = new Map<string, number>()
  /** When places were forgotten, and until when that matters. */
  const moments = new Map<string, { readonly at: number; readonly until: number }>()

  const forgottenAt = (place: Place, now: number) => {
    const { at, until } = moments.get(stateKey(place)) ?? { at: -1, until: 0 }
    return until > now && at <= now + GRACE ? at : -1
  }

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
          untils.set(place, algorithm.take(terms, view, granted, cellsOf(algorithm, place), 0))
        }
        if (mode === "spend" && granted === 0) {
          const cells = states.get(place)
          const until = cells === undefined ? 0 : algorithm.mend(terms, view, cells, 0)
          if (until > 0) untils.set(place, until)
        }
        return algorithm.tell(terms, view, granted < count)
      })
      return { granted, levels, at: now }
    },

    giveBack(parts, now, at) {
      for (const part of parts) {
        const { algorithm, place, terms, view } = read(part, now)
        if (at !== undefined && (at <= forgottenAt(part, now) || !algorithm.counts(terms, view, at))) continue
        const cells = states.get(place)
        if (cells === undefined) continue
        const until = algorithm.give(terms, view, at, cells, 0)
        untils.set(place, until)
        if (until === 0) states.delete(place)
      }
    },

    forget(places, now) {
      for (const place of places) {
        const name = stateKey(place)
        let until = 0
        for (const { suffix } of countings) {
          const state = `${name}:${suffix}`
          if (states.delete(state)) until = Math.max(until, untils.get(state) ?? 0)
        }
        if (until <= now) continue
        const at = Math.max(now, forgottenAt(place, now) + 1)
        moments.set(name, { at, until: Math.max(until, moments.get(name)?.until ?? 0) })
      }
    },
  }
}

/** Room for the state of one key. */
export function emptyCells({ inNumbers }: Pick<AnyAlgorithm, "inNumbers">): Cells {
  return inNumbers ? zeros() : []
}
