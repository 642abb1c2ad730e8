import type { Level, State } from "../../algorithm.js"
import { GRACE, wholeMilliseconds } from "../../clock.js"
import type { StateRef } from "../../state-key.js"
import type { PolicyRequest, Settlement, Stored, StoreReply, StoreRequest, Turn } from "../../store.js"
import { countGaps, fill, freeTurn, frontOf, isFree, type Place, soonestPlace, timesIn } from "./gaps.js"
import { type Ledger, type Looked, roomIn } from "./memory-store.js"
import type { Kind } from "./state-table.js"

/** A debit that can be settled until it expires. */
interface Reserved extends State {
  readonly debitedAt: number
}

const reservations: Kind = {}

/** How often a request under several policies with gaps looks for a moment at which all have a place. */
const MOST_TRIES = 8

/** Requests that look beyond this moment: turns, debt, and reservations. */
export function bookingsOn({ table, look, write, giveBack, resetAt, notReset }: Ledger) {
  const lookAll = (policies: readonly PolicyRequest[], now: number): Looked[] =>
    policies.map((policy) => look(policy, now))

  /** Looks at the state of a policy, and repairs it if the clock went back since it was written. */
  const lookRepaired = (policy: PolicyRequest, now: number): Looked => {
    const looked = look(policy, now)
    const { algorithm, parameters, view } = looked
    if (!view.jumped) return looked
    write(looked, algorithm.save(parameters, view), now)
    return look(policy, now)
  }

  /** How long until every policy has a turn behind all others. */
  const waitBehind = (policies: readonly PolicyRequest[], now: number): number =>
    policies.reduce((wait, policy) => {
      const { algorithm, parameters, view } = lookRepaired(policy, now)
      return Math.max(wait, algorithm.turn(parameters, view))
    }, 0)

  /** The soonest moment at which every policy has a place for its cost. Undefined if a few tries do not find one. */
  const meet = (policies: readonly PolicyRequest[], now: number, isTurn: boolean) => {
    let wait = 0
    for (let i = 0; i < MOST_TRIES; i += 1) {
      const places = policies.map((policy) => soonestPlace(look, policy, now, wait, isTurn))
      const longest = Math.max(...places.map((place) => place.wait))
      if (longest === Number.POSITIVE_INFINITY) return undefined
      // With one policy, the first place is the one.
      if (longest === 0 || policies.length === 1) return { wait: wait + longest, places }
      // Who does not wait for a turn comes back after whole milliseconds.
      wait += isTurn ? longest : wholeMilliseconds(longest) * 1_000
    }
    return undefined
  }

  /** How long until every policy has a turn, and the gaps of those that have it in a gap, not behind all others. */
  const waitFor = (policies: readonly PolicyRequest[], now: number): [wait: number, gaps: Place["gap"][]] => {
    const behind = waitBehind(policies, now)
    if (behind === 0 || !lookAll(policies, now).some(hasGaps)) return [behind, []]
    const met = meet(policies, now, true)
    return met === undefined ? [behind, []] : [met.wait, met.places.map(({ gap }) => gap)]
  }

  /** The levels of a denial. The policy that holds it up longest reports the wait until all of them have a place. */
  const deniedLevels = (
    policies: readonly PolicyRequest[],
    now: number,
    places: readonly Place[],
  ): Level[] => {
    const longest = Math.max(...places.map(({ wait }) => wait))
    const wait = meet(policies, now, false)?.wait ?? Math.max(...places.map(waitBehindAll))
    return places.map((place) =>
      levelIn(place, place.wait === longest && longest < wait ? wait : place.wait, true),
    )
  }

  const levelsAt = (policies: readonly PolicyRequest[], at: number, short: boolean): Level[] =>
    lookAll(policies, at).map(({ algorithm, parameters, view }) => algorithm.level(parameters, view, short))

  /** Spends the cost of one policy, `wait` ahead. Returns its level then, and its queue states after and before. */
  const spendAt = (policy: PolicyRequest, now: number, wait: number, gap: Place["gap"], times = 1) => {
    const then = look(policy, now + wait)
    const { algorithm, parameters, view } = then
    const filled = gap && fill(then, gap, wait, times)
    if (gap !== undefined && filled !== undefined) {
      const front = algorithm.queueState(filled)
      const looked = look(policy, now)
      algorithm.noteGap?.(looked.view, filled)
      looked.view.gaps = looked.view.gaps?.map((each) => (each === gap ? { ...gap, front } : each))
      write(looked, algorithm.save(parameters, looked.view), now)
      return { level: algorithm.level(parameters, filled, false), after: front, before: gap.front }
    }
    const before = algorithm.queueState(look(policy, now).view)
    write(then, algorithm.take(parameters, view, times, wait), now)
    const level = algorithm.level(parameters, view, false)
    return { level, after: algorithm.queueState(look(policy, now).view), before }
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
      const [wait, gaps] = waitFor(policies, now)
      if (wait <= maxWait) {
        const since = wait > 0 ? sinceReset(policies, now) : now
        const spent = policies.map((policy, i) => spendAt(policy, now, wait, gaps[i]))
        return {
          granted: 1,
          levels: spent.map(({ level }) => level),
          at: now,
          turn: now + wait,
          receipt: [since, ...spent.flatMap(({ after, before }) => [...after, ...before])],
        }
      }
      const refused = { granted: 0, levels: levelsAt(policies, now, true), at: now }
      return Number.isFinite(wait) ? { ...refused, turn: now + wait } : refused
    },

    /** Spends or peeks in the gaps between turns, after `granted` were spent behind all turns. */
    fillGaps({ policies, count, mode }: StoreRequest, already: number, now: number): StoreReply {
      let granted = already
      for (;;) {
        const places = policies.map((policy) => soonestPlace(look, policy, now, 0, false))
        const fits = places.every(({ wait }) => wait === 0)
        if (!fits || mode === "peek") {
          if (fits && granted === 0) granted = 1
          const levels =
            granted < count
              ? deniedLevels(policies, now, places)
              : places.map((place) => levelIn(place, 0, false))
          return { granted, levels, at: now }
        }
        const times = timesIn(places, count - granted)
        const levels = policies.map((policy, i) => spendAt(policy, now, 0, places[i]?.gap, times).level)
        granted += times
        if (granted === count) return { granted, levels, at: now }
      }
    },

    leave({ policies, at, receipt }: Turn, now: number): void {
      const bookedAt = receipt[0] as number
      if (at <= now) {
        giveBack(notReset(policies, bookedAt, now), at, now)
        return
      }
      // The clock went back since.
      if (bookedAt > now + GRACE) return
      let next = 1
      for (const policy of policies) {
        const looked = lookRepaired(policy, now)
        const { queueWidth } = looked.algorithm
        const after = receipt.slice(next, next + queueWidth)
        next += 2 * queueWidth
        const before = receipt.slice(next - queueWidth, next)
        // A reset has deleted the queue that the turn was in.
        if (looked.entry === undefined || bookedAt <= resetAt([policy], now)) continue
        if (isFree(looked, before, after)) continue
        write(looked, freeTurn(looked, before, after), now)
      }
    },

    charge,

    /** What is stored for a peek that asks for it. */
    stored({ policies, inspect }: StoreRequest, now: number): Stored {
      const looked = lookAll(policies, now)
      const states = looked.map(({ algorithm, parameters, entry, view }) => ({
        expiresAt: entry?.state.expiresAt ?? 0,
        wait: algorithm.turn(parameters, view),
        queue: algorithm.queueState(view),
      }))
      const note = inspect?.reservation
      const reservation = note && (table.get(reservations, reservationRef(note)) as Reserved | undefined)
      return { states, gaps: Math.max(...looked.map(countGaps)), reservation }
    },

    /** Notes a debit of now, to be settled later. */
    reserve({ policies, note }: StoreRequest, now: number): void {
      if (note === undefined) return
      const reserved: Reserved = { expiresAt: now + note.lasts, debitedAt: sinceReset(policies, now) }
      table.set(reservations, reservationRef(note.ref), reserved, now)
    },

    settle({ ref, back, more, maxWait }: Settlement, now: number): boolean {
      const noted = reservationRef(ref)
      const reserved = table.get(reservations, noted) as Reserved | undefined
      if (reserved === undefined || reserved.expiresAt <= now) return false
      table.set(reservations, noted, undefined, now)
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

/** The same request at cost 1, which decides when anything passes again. */
function forOne(policy: PolicyRequest): PolicyRequest {
  return policy.cost === 1 ? policy : { ...policy, cost: 1 }
}

/** The level of a policy that was not charged. A denial ends after `wait`. */
function levelIn({ looked, gap, wait: own }: Place, wait: number, short: boolean): Level {
  const { algorithm, parameters, view } = looked
  if (short && (gap !== undefined || wait > own)) return algorithm.levelUntil(parameters, view, wait)
  return algorithm.level(parameters, gap === undefined ? view : frontOf(looked, gap), short)
}

/** How long until the cost of a policy fits behind all turns. */
function waitBehindAll({ looked: { algorithm, parameters, view } }: Place): number {
  return algorithm.wait(parameters, algorithm.level(parameters, view, true))
}

/** Whether turns of this state were given back between others. */
export function hasGaps({ view }: Looked): boolean {
  return view.gaps !== undefined
}

/** Where a reservation is noted: not under its key alone, which may have many. */
function reservationRef({ ref, key }: StateRef): StateRef {
  return { ref, key: `${ref.id}:${key}` }
}
