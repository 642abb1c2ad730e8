import type { Level } from "../../algorithm.js"
import { type AnyAlgorithm, countingOf, countings, termsOf } from "../../algorithms/index.js"
import { type Clock, checkClock, microseconds } from "../../clock.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import type { Place } from "../../state-key.js"
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

/** A part of an ask as it stands. */
interface Looked {
  readonly algorithm: AnyAlgorithm
  readonly terms: unknown
  readonly slot: number | undefined
  readonly view: unknown
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

  const look = ({ scope, key, policy, cost }: Part, now: number): Looked => {
    const counting = countingOf(policy)
    const { algorithm } = counting
    const terms = termsOf(policy, cost)
    const slot = shelf.find(scope, counting, key)
    const view =
      slot === undefined
        ? algorithm.read(terms, undefined, 0, now)
        : algorithm.read(terms, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm), now)
    return { algorithm, terms, slot, view }
  }

  /** Takes what was granted, or notes the denial; the level it leaves. */
  const settle = (part: Part, looked: Looked, granted: number, { count, mode }: Ask, now: number): Level => {
    const { algorithm, terms, view } = looked
    if (mode === "spend" && granted > 0) {
      const slot = looked.slot ?? shelf.add(part.scope, countingOf(part.policy), part.key, now)
      const cells = shelf.cells(slot, algorithm)
      shelf.written(slot, algorithm.take(terms, view, granted, cells, shelf.cell(slot, algorithm)))
    } else if (mode === "spend" && looked.slot !== undefined) {
      const { slot } = looked
      const mended = algorithm.mend(terms, view, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm))
      if (mended > 0) shelf.written(slot, mended)
      shelf.markDenied(slot)
    }
    return algorithm.tell(terms, view, granted < count)
  }

  return {
    clock,

    ask(ask) {
      const { parts, count } = ask
      const now = microseconds(clock)
      if (parts.length === 1) {
        const part = parts[0] as Part
        const looked = look(part, now)
        const granted = looked.algorithm.room(looked.terms, looked.view, count)
        return { granted, levels: [settle(part, looked, granted, ask, now)], at: now }
      }
      let granted = count
      for (const part of parts) {
        const { algorithm, terms, view } = look(part, now)
        granted = algorithm.room(terms, view, granted)
      }
      // looked at again, because a view holds until the next and a slot until one is added
      const levels = parts.map((part) => settle(part, look(part, now), granted, ask, now))
      return { granted, levels, at: now }
    },

    giveBack(parts, at) {
      const now = microseconds(clock)
      for (const part of parts) {
        const { algorithm, terms, slot, view } = look(part, now)
        if (slot === undefined || (at !== undefined && !algorithm.counts(terms, view, at))) continue
        const cells = shelf.cells(slot, algorithm)
        const left = algorithm.give(terms, view, at, cells, shelf.cell(slot, algorithm))
        if (left > 0) shelf.written(slot, left)
        else shelf.remove(slot)
      }
    },

    forget(places) {
      for (const { scope, key } of places) {
        for (const counting of countings) {
          const slot = shelf.find(scope, counting, key)
          if (slot !== undefined) shelf.remove(slot)
        }
      }
    },

    get size() {
      return shelf.size
    },
  }
}
