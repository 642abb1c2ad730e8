import type { Level } from "../algorithm.js"
import { countingOf, termsOf } from "../algorithms/index.js"
import { twinOf } from "../algorithms/twin.js"
import { microseconds } from "../clock.js"
import type { Policy } from "../policy.js"
import type { Place } from "../state-key.js"
import type { Answer, Ask, Part, Settlement, Turn } from "../store.js"
import { type MemoryStore, memoryStore } from "../stores/memory/memory-store.js"
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
  /** Settles a reservation if it was made here: what of it is to be given back to the store, and as of when. */
  settle(settlement: Settlement): readonly Debit[] | undefined
  forget(places: readonly Place[]): void
}

/** What the store is to be charged for. */
export interface Charged {
  readonly part: Part
  readonly maxWait: number
}

/** Something that the store was charged for. */
export interface Debit {
  readonly part: Part
  readonly at: number
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
  /** Keys that were spent from here, by policy and key. */
  const used = new Set<string>()
  const turns = new WeakSet<readonly number[]>()
  /** Those that something was reserved of here, and when the store was told; less than any time if it was not. */
  const reserved = new Map<string, number>()

  const shared = <P extends Part>(part: P): P => {
    let policy = shares.get(part.policy)
    if (policy === undefined) {
      policy = localShare(part.policy, share)
      shares.set(part.policy, policy)
    }
    return { ...part, policy }
  }
  const nameOf = ({ scope, key }: Place) => `${scope.id}:${key}`
  const noteUse = (place: Place) => {
    if (used.size < MOST_KEYS) used.add(nameOf(place))
  }

  const noteReserved = (place: Place) => {
    if (reserved.size >= MOST_KEYS) reserved.clear()
    reserved.set(nameOf(place), -1)
  }

  return {
    answer(ask) {
      const parts = ask.parts.map(shared)
      const answer = store.ask({ ...ask, parts })
      if (ask.mode !== "peek") for (const part of parts) noteUse(part)
      if (answer.marks !== undefined) turns.add(answer.marks)
      if (ask.mode === "reserve" && answer.granted > 0) for (const part of parts) noteReserved(part)
      return { ...answer, under: parts.map(({ policy }) => policy), source: "fallback" }
    },

    get owes() {
      return used.size > 0
    },

    owesFor: (place) => used.has(nameOf(place)),

    owed(parts) {
      const known = parts.filter((part) => used.has(nameOf(part)))
      for (const part of known) used.delete(nameOf(part))
      const owed = known.flatMap((part) => chargesFor(part, shared({ ...part, cost: 1 }), store))
      store.forget(known)
      return owed
    },

    owe({ part, maxWait }) {
      store.ask({ parts: [shared(part)], count: 1, mode: "charge", maxWait })
      noteUse(part)
    },

    told({ part }, at) {
      if (reserved.has(nameOf(part))) reserved.set(nameOf(part), at)
    },

    leave(turn) {
      if (!turns.has(turn.marks)) return false
      store.leave({ ...turn, parts: turn.parts.map(shared) })
      return true
    },

    settle({ place, back, more, maxWait }) {
      const here = { back: back.map(shared), more: more.map(shared) }
      if (!store.settle({ place, ...here, maxWait })) return undefined
      for (const part of more) noteUse(part)
      // of what is counted there, nothing was given back here
      return back.map((part) => ({ part, at: reserved.get(nameOf(part)) ?? -1 })).filter(({ at }) => at >= 0)
    },

    forget: (places) => store.forget(places),
  }
}

/** What has been spent of a part, in charges of no more than the limit here: no more can be owed at once. */
function chargesFor(part: Part, here: Part, store: MemoryStore): Charged[] {
  const { levels } = store.ask({ parts: [here], count: 1, mode: "peek" })
  const level = levels[0] as Level
  const terms = termsOf(here.policy, 1)
  const { limit, resetAfter } = countingOf(here.policy).algorithm.explain(terms, level)
  const charged: Charged[] = []
  for (let left = twinOf(here.policy).units(terms, level); left > 0; left -= limit) {
    charged.push({ part: { ...part, cost: Math.min(left, limit) }, maxWait: resetAfter * 1_000 })
  }
  return charged
}
