import { countingOf, termsOf } from "../algorithms/index.js"
import { microseconds } from "../clock.js"
import type { Policy } from "../policy.js"
import type { Place } from "../state-key.js"
import type { Answer, Ask, Part, Settlement, Turn } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
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
  /** What was spent here of these parts and still counts; told once. */
  owed(parts: readonly Part[]): Part[]
  /** Counts here again what the store could not be told. */
  owe(part: Part): void
  /** Gives a turn back if it was one of here. */
  leave(turn: Turn): boolean
  /** Settles a reservation if it was made here. */
  settle(settlement: Settlement): boolean
  forget(places: readonly Place[]): void
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
    leave: ({ marks }) => marks === nowhere,
    settle: () => false,
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

  return {
    answer(ask) {
      const parts = ask.parts.map(shared)
      const answer = store.ask({ ...ask, parts })
      if (ask.mode !== "peek") for (const part of parts) noteUse(part)
      if (answer.marks !== undefined) turns.add(answer.marks)
      return { ...answer, under: parts.map(({ policy }) => policy), source: "fallback" }
    },

    get owes() {
      return used.size > 0
    },

    owesFor: (place) => used.has(nameOf(place)),

    owed(parts) {
      const known = parts.filter((part) => used.has(nameOf(part)))
      for (const part of known) used.delete(nameOf(part))
      const spent = known.map((part) => {
        const { policy, ...place } = shared({ ...part, cost: 1 })
        const { levels } = store.ask({ parts: [{ ...place, policy }], count: 1, mode: "peek" })
        const { limit, remaining } = countingOf(policy).algorithm.explain(
          termsOf(policy, 1),
          levels[0] as readonly number[],
        )
        return { ...part, cost: limit - remaining }
      })
      store.forget(known)
      return spent.filter(({ cost }) => cost > 0)
    },

    owe(part) {
      store.ask({ parts: [shared(part)], count: 1, mode: "charge", maxWait: 0 })
      noteUse(part)
    },

    leave(turn) {
      if (!turns.has(turn.marks)) return false
      store.leave({ ...turn, parts: turn.parts.map(shared) })
      return true
    },

    settle: (settlement) =>
      store.settle({
        ...settlement,
        back: settlement.back.map(shared),
        more: settlement.more.map(shared),
      }),

    forget: (places) => store.forget(places),
  }
}
