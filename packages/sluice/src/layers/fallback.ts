import type { Level } from "../algorithm.js"
import { countingOf, termsOf } from "../algorithms/index.js"
import { twinOf } from "../algorithms/twin.js"
import { microseconds } from "../clock.js"
import { limitOf, type Policy } from "../policy.js"
import type { Place } from "../state-key.js"
import type { Answer, Ask, Part, Settlement, Turn } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { LocalReservations, nameOf, type Reserved } from "./local-reservations.js"
import { localShare } from "./local-share.js"
import type { OutagePolicy } from "./outage-terms.js"

/** How many keys are counted in this process meanwhile. */
const MOST_KEYS = 100_000

/** What is said in place of a store, by the policy for outages. */
export interface Fallback {
  /** The answer, if there is one to give; `retryIn` milliseconds the store is asked again. */
  answer(ask: Ask, retryIn: number): Answer | undefined
  /** Whether anything was spent here that the store has not been told. */
  readonly owes: boolean
  /** Whether that may be so of one place. */
  owesFor(place: Place): boolean
  /** What was spent, booked or is owed here of these parts and still counts, as charges; told once. */
  owed(parts: readonly Part[]): Charged[]
  /** Counts here again what the store could not be told. */
  owe(charged: Charged): void
  /** The store was told, at a moment of its clock. */
  told(charged: Charged, at: number): void
  /** Gives a turn back if it was one of here. */
  leave(turn: Turn): boolean
  /** Begins to settle a reservation, if it was made here. */
  settle(settlement: Settlement): Settling | undefined
  forget(places: readonly Place[]): void
}

/** What the store is to be charged for, and what of that reservations are. */
export interface Charged {
  readonly part: Part
  readonly maxWait: number
  readonly reserved: readonly { readonly of: Reserved; readonly units: number }[]
}

/** A reservation that is being settled. */
export interface Settling {
  /** What the store was charged for and is to have back first, one by one. */
  readonly debits: readonly { readonly part: Part; readonly at: number; done(): void }[]
  /** Does the rest. */
  finish(): void
  /** Leaves it to be settled again. */
  undo(): void
}

export function fallbackOf(policy: OutagePolicy): Fallback {
  if (typeof policy === "object") return local(policy.local)
  return {
    answer(ask, retryIn) {
      // nor is it said that something was charged: nobody counts
      if (policy === "throw" || ask.mode === "charge") return undefined
      return policy === "open" ? allowed(ask) : denied(ask, retryIn)
    },
    owes: false,
    owesFor: () => false,
    owed: () => [],
    owe: () => {},
    told: () => {},
    leave: ({ marks }) => marks === nowhere,
    settle: () => undefined,
    forget: () => {},
  }
}

/** The marks of a turn that is in no line. */
const nowhere: readonly number[] = Object.freeze([])

/** As for a key that nobody has used. */
function freshLevels(parts: readonly Part[], now: number, short: boolean) {
  return parts.map(({ policy, cost }) => {
    const { algorithm } = countingOf(policy)
    const terms = termsOf(policy, cost)
    return algorithm.tell(terms, algorithm.read(terms, undefined, 0, now), short)
  })
}

function allowed({ parts, count, mode }: Ask): Answer {
  const at = microseconds(Date.now)
  const answer: Answer = {
    granted: count,
    levels: freshLevels(parts, at, false),
    at,
    source: "fallback",
  }
  return mode === "book" ? { ...answer, turn: at, marks: nowhere } : answer
}

function denied({ parts }: Ask, retryIn: number): Answer {
  const at = microseconds(Date.now)
  const turn = at + Math.ceil(retryIn * 1_000)
  return { granted: 0, levels: freshLevels(parts, at, true), at, turn, source: "fallback" }
}

/** Counts in this process, by a share of each policy. */
function local(share: number): Fallback {
  const store = memoryStore({ maxKeys: MOST_KEYS })
  const shares = new WeakMap<Policy, Policy>()
  /** What was spent from here, by place and by how it counts there. */
  const used = new Map<string, Map<string, Part>>()
  const turns = new WeakSet<readonly number[]>()
  const reservations = new LocalReservations(MOST_KEYS)

  const shared = <P extends Part>(part: P): P => {
    let policy = shares.get(part.policy)
    if (policy === undefined) {
      policy = localShare(part.policy, share)
      shares.set(part.policy, policy)
    }
    return { ...part, policy }
  }
  const noteUse = (part: Part) => {
    const name = nameOf(part)
    const here = used.get(name) ?? new Map<string, Part>()
    here.set(countingOf(part.policy).suffix, part)
    if (used.size < MOST_KEYS) used.set(name, here)
  }

  const spentOf = (one: Part): Spent => {
    const { levels } = store.ask({ parts: [one], count: 1, mode: "peek" })
    const level = levels[0] as Level
    const terms = termsOf(one.policy, 1)
    const { limit, resetAfter } = countingOf(one.policy).algorithm.explain(terms, level)
    return { units: twinOf(one.policy).units(terms, level), lasts: resetAfter * 1_000, limit }
  }

  /** What of so many units reservations are: as many as fewer are left when it is given back. */
  const reservedOf = (one: Part, units: number): Charged["reserved"] => {
    const name = nameOf(one)
    const found: { of: Reserved; units: number }[] = []
    let before = units
    for (const of of reservations.of(one)) {
      const part = of.parts.find((each) => nameOf(each) === name)
      if (part?.policy.algorithm !== one.policy.algorithm || of.charged.has(name)) continue
      store.giveBack([part], of.at)
      const after = spentOf(one).units
      found.push({ of, units: before - after })
      before = after
      // from now on nothing of it is given back here, whatever becomes of the charge
      of.charged.set(name, { units: 0, at: 0 })
    }
    return found
  }

  return {
    answer(ask) {
      const { mode, note } = ask
      const parts = ask.parts.map(shared)
      // what is reserved is noted here, not in the store, because it may come to count elsewhere
      const answer = store.ask(mode === "reserve" ? { parts, count: 1, mode: "spend" } : { ...ask, parts })
      if (mode !== "peek") for (const part of ask.parts) noteUse(part)
      if (answer.marks !== undefined) turns.add(answer.marks)
      if (note !== undefined && answer.granted > 0) {
        const { at } = answer
        reservations.add({ place: note.place, parts, at, till: at + note.lasts, charged: new Map() }, at)
      }
      return { ...answer, under: parts.map(({ policy }) => policy), source: "fallback" }
    },

    get owes() {
      return used.size > 0
    },

    owesFor: (place) => used.has(nameOf(place)),

    owed(parts) {
      const known = parts.filter((part) => used.has(nameOf(part)))
      const spent = known.flatMap((part) => [...(used.get(nameOf(part))?.values() ?? [])])
      for (const part of known) used.delete(nameOf(part))
      const owed = spent.flatMap((part) => {
        const here = shared({ ...part, cost: 1 })
        const all = spentOf(here)
        return chargesOf(part, all, reservedOf(here, all.units))
      })
      store.forget(known)
      return owed
    },

    owe({ part, maxWait }) {
      const here = shared(part)
      const { limit } = spentOf({ ...here, cost: 1 })
      for (let left = part.cost; left > 0; left -= limit) {
        const parts = [{ ...here, cost: Math.min(left, limit) }]
        store.ask({ parts, count: 1, mode: "charge", maxWait })
      }
      noteUse(part)
    },

    told({ part, reserved }, at) {
      for (const { of, units } of reserved) of.charged.set(nameOf(part), { units, at })
    },

    leave(turn) {
      if (!turns.has(turn.marks)) return false
      store.leave({ ...turn, parts: turn.parts.map(shared) })
      return true
    },

    settle({ place, back, more, maxWait }) {
      const now = microseconds(Date.now)
      const reserved = reservations.take(place, now)
      if (reserved === undefined) return undefined
      const { charged, at } = reserved
      const debits = back.flatMap((part) => {
        const debit = charged.get(nameOf(part))
        if (debit === undefined) return []
        const cost = Math.min(part.cost, debit.units)
        return {
          part: { ...part, cost },
          at: debit.at,
          done: () => charged.set(nameOf(part), { ...debit, units: 0 }),
        }
      })
      return {
        debits: debits.filter(({ part }) => part.cost > 0),
        finish() {
          store.giveBack(back.filter((part) => !charged.has(nameOf(part))).map(shared), at)
          for (const part of more) noteUse(part)
          if (more.length > 0) store.ask({ parts: more.map(shared), count: 1, mode: "charge", maxWait })
        },
        undo: () => reservations.add(reserved, now),
      }
    },

    forget: (places) => store.forget(places),
  }
}

/** What was spent of a key here. */
interface Spent {
  readonly units: number
  /** How many microseconds until nothing of it counts any more. */
  readonly lasts: number
  readonly limit: number
}

/** That as charges of no more than the limit there, for no more can be owed at once; reservations are part of the first. */
function chargesOf(part: Part, { units, lasts }: Spent, reserved: Charged["reserved"]): Charged[] {
  const most = limitOf(part.policy)
  const charged: Charged[] = []
  for (let left = units; left > 0; left -= most) {
    const cost = Math.min(left, most)
    charged.push({ part: { ...part, cost }, maxWait: lasts, reserved: left === units ? reserved : [] })
  }
  return charged
}
