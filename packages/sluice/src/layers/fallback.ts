import type { Level } from "../algorithm.js"
import { algorithmOf, countingOf, parametersOf } from "../algorithms/index.js"
import { microseconds } from "../clock.js"
import { flatCopy } from "../flat-copy.js"
import { getOrAdd } from "../get-or-add.js"
import { limitOf, type Policy } from "../policy.js"
import { escaped, type StateRef } from "../state-key.js"
import type { PolicyRequest, Settlement, StoreReply, StoreRequest, Turn } from "../store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { LocalReservations, nameOf, type Reserved } from "./local-reservations.js"
import { localShare } from "./local-share.js"
import { LocalSpends } from "./local-spends.js"
import type { OutagePolicy } from "./outage-options.js"

/** How many keys this process counts during an outage. */
const MOST_KEYS = 100_000

/** Decides during an outage, as the option `outage.then` says. Some state is local: it counts only in this process. */
export interface Fallback {
  /** The local reply. Undefined if there is none. The store is probed again in `retryIn` milliseconds. */
  answer(request: StoreRequest, retryIn: number): StoreReply | undefined
  /** Whether units were spent locally that the store has not been charged for. */
  readonly owes: boolean
  /** Removes the local spends, bookings and debts of these policies, and returns them as charges for the store. */
  owed(policies: readonly PolicyRequest[]): Charged[]
  /** Counts a charge locally again, because the store refused it. */
  owe(charged: Charged): void
  /** Notes that the store was charged, at a time of its clock. */
  noteCharged(charged: Charged, at: number): void
  /** Gives a turn back if it was booked locally. */
  leave(turn: Turn): boolean
  /** Starts to settle a reservation, if it was made locally. */
  settle(settlement: Settlement): Settling | undefined
  forget(stateRefs: readonly StateRef[]): void
}

/** A charge for the store, and the reservations that are part of it. */
export interface Charged {
  readonly part: PolicyRequest
  readonly maxWait: number
  readonly reserved: readonly { readonly of: Reserved; readonly units: number }[]
}

/** A reservation that is being settled. */
export interface Settling {
  /** Units of the reservation that the store was charged for. The caller gives them back there first, one by one. */
  readonly debits: readonly { readonly part: PolicyRequest; readonly at: number; done(): void }[]
  /** Settles the local rest. */
  finish(): void
  /** Restores the reservation, so that it can be settled again. */
  undo(): void
}

export function fallbackOf(policy: OutagePolicy): Fallback {
  if (typeof policy === "object") return local(policy.local)
  return {
    answer(request, retryIn) {
      // A charge is an error even under `"open"`: a reply would claim that something was charged.
      if (policy === "throw" || request.mode === "charge") return undefined
      return policy === "open" ? allowed(request) : denied(retryIn)
    },
    owes: false,
    owed: () => [],
    owe: () => {},
    noteCharged: () => {},
    leave: ({ receipt }) => receipt === nowhere,
    settle: () => undefined,
    forget: () => {},
  }
}

/** The receipt of a turn that is in no queue. */
const nowhere: readonly number[] = Object.freeze([])

/** The levels of an unused key. */
function freshLevels(policies: readonly PolicyRequest[], now: number) {
  return policies.map(({ policy, cost }) => {
    const { algorithm } = countingOf(policy)
    const parameters = parametersOf(policy, cost)
    return algorithm.level(parameters, algorithm.read(parameters, undefined, now), false)
  })
}

function allowed({ policies, count, mode }: StoreRequest): StoreReply {
  const at = microseconds(Date.now)
  const reply: StoreReply = {
    granted: count,
    levels: freshLevels(policies, at),
    at,
    source: "fallback",
  }
  return mode === "book" ? { ...reply, turn: at, receipt: nowhere } : reply
}

/** A denial until the next probe. It has no levels, because they are unknown. The decision reports 0 remaining. */
function denied(retryIn: number): StoreReply {
  const at = microseconds(Date.now)
  return { granted: 0, levels: [], at, turn: at + Math.ceil(retryIn * 1_000), source: "fallback" }
}

/** Counts in this process, with a share of each policy. */
function local(share: number): Fallback {
  const store = memoryStore({ maxKeys: MOST_KEYS })
  const shares = new WeakMap<Policy, Policy>()
  const turns = new WeakSet<readonly number[]>()
  const reservations = new LocalReservations(MOST_KEYS)

  const sharedPolicy = (policy: Policy) => getOrAdd(shares, policy, () => localShare(policy, share))

  /** The local name of a state. Escaped keys have a bounded length, and a copy keeps no request in memory. */
  const here = <R extends StateRef>(ref: R): R => ({ ...ref, key: flatCopy(escaped(ref.key)) })

  /** A policy of a request with its local name and its local share. */
  const shared = <P extends PolicyRequest>(part: P): P => {
    return { ...here(part), policy: sharedPolicy(part.policy) }
  }
  const noteUse = (part: PolicyRequest) => {
    const local = here(part)
    used.add(nameOf(local), countingOf(part.policy).suffix, local)
  }

  const spentOf = (one: PolicyRequest): Spent => {
    const { levels } = store.decide({ policies: [one], count: 1, mode: "peek" })
    const level = levels[0] as Level
    const parameters = parametersOf(one.policy, 1)
    const { limit, resetAfter } = algorithmOf(one.policy).explain(parameters, level)
    return { units: algorithmOf(one.policy).unitsSpent(parameters, level), lasts: resetAfter * 1_000, limit }
  }

  /** The keys with local spends, by the share of the limit that they have used. */
  const used = new LocalSpends(MOST_KEYS, ({ ref, key, policy }) => {
    const { units, limit } = spentOf({ ref, key, policy: sharedPolicy(policy), cost: 1 })
    return units / limit
  })

  /** Splits the reservations off from `units` spent: gives each back locally, and measures how much that frees. */
  const reservedOf = (one: PolicyRequest, units: number): Charged["reserved"] => {
    const name = nameOf(one)
    const found: { of: Reserved; units: number }[] = []
    let before = units
    for (const of of reservations.of(one)) {
      const policy = of.parts.find((each) => nameOf(each) === name)
      if (policy?.policy.algorithm !== one.policy.algorithm || of.charged.has(name)) continue
      store.giveBack([policy], of.at)
      const after = spentOf(one).units
      found.push({ of, units: before - after })
      before = after
      // From now on nothing of the reservation is given back locally, even if the charge fails.
      of.charged.set(name, { units: 0, at: 0 })
    }
    return found
  }

  return {
    answer(request) {
      const { mode, note } = request
      const policies = request.policies.map(shared)
      // Keep the note of a reservation outside the local store: its units may move to the real store before it is settled.
      const reply = store.decide(
        mode === "reserve" ? { policies, count: 1, mode: "spend" } : { ...request, policies },
      )
      if (mode !== "peek") for (const part of request.policies) noteUse(part)
      if (reply.receipt !== undefined) turns.add(reply.receipt)
      if (note !== undefined && reply.granted > 0) {
        const { at } = reply
        reservations.add(
          { ref: here(note.ref), parts: policies, at, till: at + note.lasts, charged: new Map() },
          at,
        )
      }
      return { ...reply, under: policies.map(({ policy }) => policy), source: "fallback" }
    },

    get owes() {
      return used.size > 0
    },

    owed(policies) {
      used.age()
      return policies.flatMap((asked) => {
        const known = used.take(nameOf(here(asked)))
        const charged = known.flatMap(({ policy }) => {
          const part = { ...asked, policy }
          const own = shared({ ...part, cost: 1 })
          const all = spentOf(own)
          return chargesOf(part, all, reservedOf(own, all.units))
        })
        if (known.length > 0) store.forget([here(asked)])
        return charged
      })
    },

    owe({ part: policy, maxWait }) {
      const own = shared(policy)
      const { limit } = spentOf({ ...own, cost: 1 })
      for (let left = policy.cost; left > 0; left -= limit) {
        const policies = [{ ...own, cost: Math.min(left, limit) }]
        store.decide({ policies, count: 1, mode: "charge", maxWait })
      }
      noteUse(policy)
    },

    noteCharged({ part: policy, reserved }, at) {
      for (const { of, units } of reserved) of.charged.set(nameOf(here(policy)), { units, at })
    },

    leave(turn) {
      if (!turns.has(turn.receipt)) return false
      store.leave({ ...turn, policies: turn.policies.map(shared) })
      return true
    },

    settle({ ref: stateRef, back, more, maxWait }) {
      const now = microseconds(Date.now)
      const reserved = reservations.take(here(stateRef), now)
      if (reserved === undefined) return undefined
      const { charged, at } = reserved
      const debits = back.flatMap((policy) => {
        const name = nameOf(here(policy))
        const debit = charged.get(name)
        if (debit === undefined) return []
        const cost = Math.min(policy.cost, debit.units)
        return {
          part: { ...policy, cost },
          at: debit.at,
          done: () => charged.set(name, { ...debit, units: 0 }),
        }
      })
      return {
        debits: debits.filter(({ part: policy }) => policy.cost > 0),
        finish() {
          store.giveBack(
            back.map(shared).filter((policy) => !charged.has(nameOf(policy))),
            at,
          )
          for (const part of more) noteUse(part)
          if (more.length > 0) store.decide({ policies: more.map(shared), count: 1, mode: "charge", maxWait })
        },
        undo: () => reservations.add(reserved, now),
      }
    },

    forget: (stateRefs) => store.forget(stateRefs.map(here)),
  }
}

/** The local spend of a key. */
interface Spent {
  readonly units: number
  /** Microseconds until none of it counts any more. */
  readonly lasts: number
  readonly limit: number
}

/** Splits a spend into charges of at most the limit, because debt is bounded. Reservations belong to the first charge. */
function chargesOf(policy: PolicyRequest, { units, lasts }: Spent, reserved: Charged["reserved"]): Charged[] {
  const most = limitOf(policy.policy)
  const charged: Charged[] = []
  for (let left = units; left > 0; left -= most) {
    const cost = Math.min(left, most)
    charged.push({ part: { ...policy, cost }, maxWait: lasts, reserved: left === units ? reserved : [] })
  }
  return charged
}
