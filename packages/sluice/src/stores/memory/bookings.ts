import type { Level, State } from "../../algorithm.js"
import type { StateRef } from "../../state-key.js"
import type { PolicyRequest, Settlement, StoreReply, StoreRequest, Turn } from "../../store.js"
import { type Ledger, type Looked, roomIn } from "./memory-store.js"
import type { Kind } from "./state-table.js"

/** A turn that was given back before the end of the queue, and its cost under each policy. */
type FreedTurn = Pick<Turn, "at" | "receipt"> & { readonly costs: readonly number[] }

/** The freed turns of requests for the same policies and key, soonest first. */
interface FreedTurns extends State {
  readonly turns: readonly FreedTurn[]
}

/** A debit that can be settled until it expires. */
interface Reserved extends State {
  readonly debitedAt: number
}

const freed: Kind = { weight: (state) => 1 + (state as FreedTurns).turns.length }
const reservations: Kind = {}

/** The most freed turns that are kept for one key. */
const MOST_TURNS = 1_024

/** Requests that look beyond this moment: turns, debt, and reservations. */
export function bookingsOn({ table, look, write, giveBack, resetAt, notReset }: Ledger) {
  const lookAll = (policies: readonly PolicyRequest[], now: number): Looked[] =>
    policies.map((policy) => look(policy, now))

  /** How long until every policy has a turn. */
  const waitFor = (policies: readonly PolicyRequest[], now: number): number => {
    let wait = 0
    for (const looked of lookAll(policies, now)) {
      const { algorithm, parameters, view } = looked
      const mended = looked.entry && algorithm.mend(parameters, view)
      if (mended !== undefined) write(looked, mended, now)
      wait = Math.max(wait, algorithm.turn(parameters, view))
    }
    return wait
  }

  const levelsAt = (policies: readonly PolicyRequest[], at: number, short: boolean): Level[] =>
    lookAll(policies, at).map(({ algorithm, parameters, view }) => algorithm.level(parameters, view, short))

  const queuesOf = (policies: readonly PolicyRequest[], now: number): number[] =>
    lookAll(policies, now).flatMap(({ algorithm, view }) => algorithm.queueState(view))

  /** The turns that were given back under these policies and are still to come. */
  const freedTurns = (policies: readonly PolicyRequest[], now: number): FreedTurn[] => {
    const known = table.get(freed, freedRef(policies)) as FreedTurns | undefined
    if (known === undefined) return []
    const reset = resetAt(policies, now)
    return known.turns.filter(({ at, receipt }) => at > now && bookedAt(receipt) > reset)
  }

  const keepFreed = (policies: readonly PolicyRequest[], turns: readonly FreedTurn[], now: number): void => {
    const last = turns.at(-1)
    const kept: FreedTurns | undefined = last && { expiresAt: last.at, turns }
    table.set(freed, freedRef(policies), kept, now)
  }

  /** Puts the queue of each policy back to where it was before a turn, by the receipt of the turn. */
  const restore = (policies: readonly PolicyRequest[], receipt: readonly number[], now: number): void => {
    let next = (receipt.length + 1) / 2
    for (const looked of lookAll(policies, now)) {
      const { algorithm, parameters, view } = looked
      const queue = receipt.slice(next, next + algorithm.queueWidth)
      next += algorithm.queueWidth
      if (looked.entry !== undefined) write(looked, algorithm.restore(parameters, view, queue), now)
    }
  }

  const charge = ({ policies, maxWait = 0 }: StoreRequest, now: number): StoreReply => {
    const looked = lookAll(policies, now)
    const granted = roomIn(looked, 1)
    for (const each of looked) write(each, each.algorithm.charge(each.parameters, each.view, maxWait), now)
    const levels = levelsAt(policies.map(forOne), now, true)
    return { granted, levels, at: now }
  }

  return {
    book({ policies, maxWait = 0 }: StoreRequest, now: number): StoreReply {
      const wait = waitFor(policies, now)
      const turns = wait > 0 ? freedTurns(policies, now) : []
      const soonest = turns.find(({ costs }) => policies.every(({ cost }, i) => cost === costs[i]))
      const sooner = soonest === undefined ? Number.POSITIVE_INFINITY : soonest.at - now
      if (soonest !== undefined && sooner < wait && sooner <= maxWait) {
        const others = turns.filter((turn) => turn !== soonest)
        keepFreed(policies, others, now)
        const levels = levelsAt(policies, soonest.at, false)
        return { granted: 1, levels, at: now, turn: soonest.at, receipt: soonest.receipt }
      }
      if (wait <= maxWait) {
        const turn = now + wait
        const before = queuesOf(policies, now)
        const since = wait > 0 ? sinceReset(policies, now) : now
        const levels = lookAll(policies, turn).map((looked) => {
          const { algorithm, parameters, view } = looked
          write(looked, algorithm.take(parameters, view, 1, wait), now)
          return algorithm.level(parameters, view, false)
        })
        return { granted: 1, levels, at: now, turn, receipt: [since, ...queuesOf(policies, now), ...before] }
      }
      const refused = { granted: 0, levels: levelsAt(policies, now, true), at: now }
      const soon = Math.min(sooner, wait)
      return Number.isFinite(soon) ? { ...refused, turn: now + soon } : refused
    },

    leave({ policies, at, receipt }: Turn, now: number): void {
      if (at <= now) {
        giveBack(notReset(policies, bookedAt(receipt), now), at, now)
        return
      }
      // A reset has deleted the queue that the turn was in.
      if (bookedAt(receipt) <= resetAt(policies, now)) return
      const turns = freedTurns(policies, now)
      const behind = turns.findLastIndex((turn) => turn.at <= at) + 1
      turns.splice(behind, 0, { at, costs: policies.map(({ cost }) => cost), receipt })
      // The queue goes back by its last turn, and further if the turn before that one was given back already.
      for (;;) {
        const queues = queuesOf(policies, now)
        const last = turns.findLastIndex((turn) =>
          queues.every((number, i) => number === turn.receipt[i + 1]),
        )
        if (last < 0) break
        restore(policies, (turns[last] as FreedTurn).receipt, now)
        turns.splice(last, 1)
      }
      if (turns.length > MOST_TURNS) turns.shift()
      keepFreed(policies, turns, now)
    },

    charge,

    /** A peek that also says what is stored. */
    inspect({ policies, inspect }: StoreRequest, now: number): StoreReply {
      const looked = lookAll(policies, now)
      const granted = roomIn(looked, 1)
      const states = looked.map(({ algorithm, parameters, entry, view }) => ({
        expiresAt: entry?.state.expiresAt ?? 0,
        wait: algorithm.turn(parameters, view),
        queue: algorithm.queueState(view),
      }))
      const note = inspect?.reservation
      const reservation = note && (table.get(reservations, reservationRef(note)) as Reserved | undefined)
      const stored = { states, freedTurns: freedTurns(policies, now).length, reservation }
      return { granted, levels: levelsAt(policies, now, granted === 0), at: now, stored }
    },

    /** Notes a debit of now, to be settled later. */
    reserve({ policies, note }: StoreRequest, now: number): void {
      if (note === undefined) return
      const reserved: Reserved = { expiresAt: now + note.lasts, debitedAt: sinceReset(policies, now) }
      table.set(reservations, reservationRef(note.place), reserved, now)
    },

    settle({ ref, back, more, maxWait }: Settlement, now: number): boolean {
      const place = reservationRef(ref)
      const reserved = table.get(reservations, place) as Reserved | undefined
      if (reserved === undefined || reserved.expiresAt <= now) return false
      table.set(reservations, place, undefined, now)
      giveBack(notReset(back, reserved.debitedAt, now), reserved.debitedAt, now)
      if (more.length > 0) charge({ policies: more, count: 1, mode: "charge", maxWait }, now)
      return true
    },
  }

  /** Now, as a moment after every reset of these policies. */
  function sinceReset(policies: readonly PolicyRequest[], now: number): number {
    return Math.max(now, resetAt(policies, now) + 1)
  }
}

/** When a turn was booked: the first number of its receipt. Then come the queues with the turn, then those before it. */
function bookedAt(receipt: readonly number[]): number {
  return receipt[0] as number
}

/** The same request at cost 1, which decides when anything passes again. */
function forOne(policy: PolicyRequest): PolicyRequest {
  return policy.cost === 1 ? policy : { ...policy, cost: 1 }
}

/** Where requests for the same policies and keys keep their freed turns. */
function freedRef(policies: readonly PolicyRequest[]): StateRef {
  const { ref } = policies[0] as PolicyRequest
  return { ref, key: JSON.stringify(policies.map(({ ref, key, policy }) => [ref.id, key, policy])) }
}

/** Where a reservation is noted: not under its key alone, which may have many. */
function reservationRef({ ref, key }: StateRef): StateRef {
  return { ref, key: `${ref.id}:${key}` }
}
