import type { Level, State } from "../../algorithm.js"
import { countingOf, suffixes, termsOf } from "../../algorithms/index.js"
import { type Clock, checkClock, microseconds } from "../../clock.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import { type Place, stateKey } from "../../state-key.js"
import type { Answer, Ask, Part, Store } from "../../store.js"
import { Shelf } from "./shelf.js"

export interface MemoryStoreOptions {
  /** Tells the time; the process clock if left out. */
  readonly clock?: Clock
  /**
   * How many keys it holds at the most; 1,000,000 if left out. Limits hold while the keys that matter fit: beyond
   * that a new key takes the place of an expired one, else of the one nearest to full, of a denied one last.
   */
  readonly maxKeys?: number
}

/** A store in this process: answers at once, shares nothing, forgets on exit. */
export interface MemoryStore extends Store {
  ask(ask: Ask): Answer
  giveBack(parts: readonly Part[], at?: number): void
  forget(places: readonly Place[]): void
  /** How many keys it holds. */
  readonly size: number
}

/** Creates a store in this process, bounded by `maxKeys`. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkFields("INVALID_OPTION", "memoryStore", options, ["clock", "maxKeys"])
  const { clock = Date.now, maxKeys = 1_000_000 } = options
  checkClock(clock)
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 24) {
    throw new SluiceError(
      "INVALID_OPTION",
      `maxKeys must be an integer from 1 to 2^24, got ${shown(maxKeys)}`,
    )
  }
  const shelf = new Shelf(maxKeys)

  const read = (part: Part, now: number) => {
    const { algorithm, suffix } = countingOf(part.policy)
    const key = `${stateKey(part)}:${suffix}`
    const terms = termsOf(part.policy, part.cost)
    const view = algorithm.read(terms, shelf.get(key), now)
    return { algorithm, key, terms, view }
  }

  const keep = (key: string, state: State | undefined, now: number) => {
    if (state === undefined) shelf.delete(key)
    else shelf.set(key, state, now)
  }

  return {
    ask({ parts, count, mode }) {
      const now = microseconds(clock)
      let granted = count
      const looked = parts.map((part) => read(part, now))
      for (const { algorithm, terms, view } of looked) {
        granted = Math.min(granted, algorithm.room(terms, view, granted))
      }
      const levels: Level[] = []
      for (const { algorithm, key, terms, view } of looked) {
        if (mode === "spend") {
          if (granted > 0) keep(key, algorithm.take(terms, view, granted), now)
          else {
            const mended = algorithm.mend(terms, view)
            if (mended !== undefined) keep(key, mended, now)
            shelf.markDenied(key)
          }
        }
        levels.push(algorithm.tell(terms, view, granted < count))
      }
      return { granted, levels, at: now }
    },

    giveBack(parts, at) {
      const now = microseconds(clock)
      for (const part of parts) {
        const { algorithm, key, terms, view } = read(part, now)
        if (at !== undefined && !algorithm.counts(terms, view, at)) continue
        keep(key, algorithm.give(terms, view, at === undefined), now)
      }
    },

    forget(places) {
      for (const place of places) for (const suffix of suffixes) shelf.delete(`${stateKey(place)}:${suffix}`)
    },

    get size() {
      return shelf.size
    },
  }
}
