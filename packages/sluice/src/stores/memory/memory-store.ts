import { type Level, zeros } from "../../algorithm.js"
import { countingOf, termsOf } from "../../algorithms/index.js"
import { type Clock, checkClock, microseconds } from "../../clock.js"
import { allowedBy } from "../../decision.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import type { Charge } from "../../policies.js"
import { offerShortcut, type Shortcut } from "../../shortcut.js"
import type { Place } from "../../state-key.js"
import type { Answer, Ask, Part, Settlement, Store, Turn } from "../../store.js"
import { Forgotten } from "./forgotten.js"
import { Shelf } from "./shelf.js"
import { type Looked, turnsOn } from "./turns.js"

/** Longer keys are asked for the long way. */
const LONG_KEY = 128

export interface MemoryStoreOptions {
  /** Tells the time; the process clock if left out. */
  readonly clock?: Clock | undefined
  /**
   * How many keys it holds at the most; 1,000,000 if left out. Limits hold while the keys that matter fit: beyond
   * that a new key takes the place of an expired one, else of the one nearest to full, of a denied one last.
   */
  readonly maxKeys?: number | undefined
}

/** A store in this process: answers at once, shares nothing, forgets on exit. */
export interface MemoryStore extends Store {
  ask(ask: Ask): Answer
  giveBack(parts: readonly Part[], at?: number): void
  leave(turn: Turn): void
  settle(settlement: Settlement): boolean
  forget(places: readonly Place[]): void
  /** How many keys it holds. Notes of reservations, of turns that were given up, and of resets count as keys. */
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
  return storeOver(new Shelf(maxKeys), clock)
}

/** A store of what is on a shelf. */
export function storeOver(shelf: Shelf, clock: Clock): MemoryStore {
  const forgotten = new Forgotten(shelf)
  const look = ({ scope, key, policy, cost }: Part, now: number, known?: number): Looked => {
    const counting = countingOf(policy)
    const { algorithm } = counting
    const terms = termsOf(policy, cost)
    const slot = known ?? shelf.find(scope, counting, key)
    const view =
      slot === undefined
        ? algorithm.read(terms, undefined, 0, now)
        : algorithm.read(terms, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm), now)
    return { algorithm, terms, slot, view }
  }

  /** Takes what was granted, or notes the denial; the level it leaves. */
  const settle = (part: Part, looked: Looked, granted: number, { count, mode }: Ask, now: number): Level => {
    const { algorithm, terms, view } = looked
    if (mode !== "peek" && granted > 0) {
      const slot = looked.slot ?? shelf.findOrAdd(part.scope, countingOf(part.policy), part.key, now)
      const cells = shelf.cells(slot, algorithm)
      shelf.written(slot, algorithm.take(terms, view, granted, cells, shelf.cell(slot, algorithm)))
    } else if (mode !== "peek" && looked.slot !== undefined) {
      const { slot } = looked
      const mended = algorithm.mend(terms, view, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm))
      if (mended > 0) shelf.written(slot, mended)
      shelf.markDenied(slot)
    }
    return algorithm.tell(terms, view, granted < count)
  }

  const giveBack = (parts: readonly Part[], at: number | undefined, now: number) => {
    for (const part of parts) {
      const { algorithm, terms, slot, view } = look(part, now)
      if (slot === undefined || (at !== undefined && !algorithm.counts(terms, view, at))) continue
      const cells = shelf.cells(slot, algorithm)
      const left = algorithm.give(terms, view, at, cells, shelf.cell(slot, algorithm))
      if (left > 0) shelf.written(slot, left)
      else shelf.remove(slot)
    }
  }

  const turns = turnsOn(shelf, forgotten, look, giveBack)

  const store: MemoryStore = {
    clock,

    ask(ask) {
      const { parts, count, mode } = ask
      const now = microseconds(clock)
      if (mode === "book") return turns.book(ask, now)
      if (mode === "charge") return turns.charge(ask, now)
      if (parts.length === 1 && mode !== "reserve") {
        const part = parts[0] as Part
        const looked = look(part, now)
        const granted = looked.algorithm.room(looked.terms, looked.view, count)
        return { granted, levels: [settle(part, looked, granted, ask, now)], at: now }
      }
      let granted = count
      const slots = parts.map((part) => {
        const { algorithm, terms, slot, view } = look(part, now)
        granted = algorithm.room(terms, view, granted)
        return slot
      })
      // for a key that is added, others may move
      const known = slots.includes(undefined) ? [] : slots
      // looked at again, because a view holds until the next
      const levels = parts.map((part, i) => settle(part, look(part, now, known[i]), granted, ask, now))
      if (mode === "reserve" && granted > 0) turns.note(ask, now)
      return { granted, levels, at: now }
    },

    giveBack(parts, at) {
      const now = microseconds(clock)
      giveBack(at === undefined ? parts : forgotten.after(at, parts, now), at, now)
    },
    leave: (turn) => turns.leave(turn, microseconds(clock)),
    settle: (settlement) => turns.settle(settlement, microseconds(clock)),

    forget(places) {
      const now = microseconds(clock)
      for (const place of places) forgotten.forget(place, now)
    },

    get size() {
      return shelf.size
    },
  }
  const { ask } = store
  return offerShortcut(store, (charged) => {
    const spend = shortcutTo(shelf, clock, charged)
    // nor past somebody who has put something in the place of what is asked
    return spend && ((key) => (store.ask === ask ? spend(key) : undefined))
  })
}

/** Spends under one policy that is as plain as it looks, of keys that are there or new. */
function shortcutTo(shelf: Shelf, clock: Clock, charged: readonly Charge[]): Shortcut | undefined {
  const [only, second] = charged
  if (only === undefined || second !== undefined) return undefined
  const { name, scope, policy, cost } = only
  const counting = countingOf(policy)
  const { algorithm } = counting
  const terms = termsOf(policy, cost)
  const { spendPlain } = algorithm
  // of a state of zeros if of any that is plain
  if (spendPlain?.(terms, algorithm.inNumbers ? zeros() : [], 0, 1) === undefined) return undefined

  return (key) => {
    // it would be hashed for the long way too, which takes longer than is gained
    if (key.length > LONG_KEY) return undefined
    const now = microseconds(clock)
    const slot = shelf.findOrAdd(scope, counting, key, now)
    const spent = spendPlain(terms, shelf.cells(slot, algorithm), shelf.cell(slot, algorithm), now)
    if (spent === undefined) return undefined
    shelf.written(slot, spent.expiresAt)
    return allowedBy(name, spent, "store")
  }
}
