import type { Level, State, View } from "../../algorithm.js"
import { type Counting, countingOf, countings, parametersOf } from "../../algorithms/index.js"
import { type Clock, checkClock, GRACE, microseconds } from "../../clock.js"
import { checkFields, SluiceError, shown } from "../../errors.js"
import type { StateRef } from "../../state-key.js"
import type { PolicyRequest, Settlement, Store, StoreReply, StoreRequest, Turn } from "../../store.js"
import { bookingsOn, hasGaps } from "./bookings.js"
import { type Entry, type Kind, StateTable } from "./state-table.js"

export interface MemoryStoreOptions {
  /** The clock. Default: the process clock. */
  readonly clock?: Clock | undefined
  /**
   * The most keys it holds. Default: 1,000,000. A sliding log of many grants counts as one key more for each 16 grants, which
   * take 512 bytes. Limits hold while the keys that matter fit. Beyond that, a new key
   * replaces an expired key, else one that has spent little of its limit, and an exhausted key last.
   */
  readonly maxKeys?: number | undefined
}

/** A store in this process: it answers at once, shares nothing and forgets everything on exit. */
export interface MemoryStore extends Store {
  decide(request: StoreRequest): StoreReply
  giveBack(policies: readonly PolicyRequest[], at?: number): void
  leave(turn: Turn): void
  settle(settlement: Settlement): boolean
  forget(stateRefs: readonly StateRef[]): void
  /** How many keys it holds. Notes of reservations and of resets count as keys. */
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
  return storeOver(new StateTable(maxKeys), clock)
}

/** One policy of a request, with its state as it stands at some moment. */
export interface Looked {
  readonly request: PolicyRequest
  readonly counting: Counting
  readonly algorithm: Counting["algorithm"]
  readonly parameters: unknown
  /** Where the state is, if there is one. */
  readonly entry: Entry | undefined
  readonly view: View
}

const resets: Kind = {}

/** When a key was reset. It matters for as long as the state would have. */
interface Reset extends State {
  readonly at: number
}

/** Shared by all modes of a request. */
export interface Ledger {
  readonly table: StateTable
  look(policy: PolicyRequest, now: number): Looked
  write(looked: Looked, state: State | undefined, now: number): void
  giveBack(policies: readonly PolicyRequest[], at: number | undefined, now: number): void
  /** When any of these keys was reset last; less than any time if none was. */
  resetAt(refs: readonly StateRef[], now: number): number
  /**
   * The policies that were not reset since a debit. A debit from before a reset must not be given back to those who
   * spend after it.
   */
  notReset(policies: readonly PolicyRequest[], debitedAt: number, now: number): PolicyRequest[]
}

/** How many of `count` requests fit under all policies. */
export function roomIn(looked: readonly Looked[], count: number): number {
  let room = count
  for (const { algorithm, parameters, view } of looked) room = algorithm.room(parameters, view, room)
  return room
}

/** A memory store over a table of states. */
export function storeOver(table: StateTable, clock: Clock): MemoryStore {
  const look = (request: PolicyRequest, now: number): Looked => {
    const counting = countingOf(request.policy)
    const { algorithm } = counting
    const parameters = parametersOf(request.policy, request.cost)
    const entry = table.find(counting, request)
    const view = algorithm.read(parameters, entry?.state, now)
    return { request, counting, algorithm, parameters, entry, view }
  }

  const write = (looked: Looked, state: State | undefined, now: number) => {
    const { counting, request, parameters, entry } = looked
    table.set(counting, request, state, now, parameters, entry)
  }

  const giveBack = (policies: readonly PolicyRequest[], at: number | undefined, now: number) => {
    for (const policy of policies) {
      const looked = look(policy, now)
      const { algorithm, parameters, view } = looked
      if (looked.entry === undefined || (at !== undefined && !algorithm.counts(parameters, view, at)))
        continue
      write(looked, algorithm.give(parameters, view, at), now)
    }
  }

  const resetAt = (refs: readonly StateRef[], now: number): number => {
    let last = -1
    for (const ref of refs) {
      const reset = table.get(resets, ref) as Reset | undefined
      // A reset that lies further ahead than clocks differ is from before the clock went back.
      if (reset !== undefined && reset.expiresAt > now && reset.at <= now + GRACE) {
        last = Math.max(last, reset.at)
      }
    }
    return last
  }

  const notReset: Ledger["notReset"] = (policies, debitedAt, now) =>
    policies.filter((policy) => debitedAt > resetAt([policy], now))

  const forget = (ref: StateRef, now: number) => {
    let until = 0
    for (const counting of countings) {
      until = Math.max(until, table.get(counting, ref)?.expiresAt ?? 0)
      table.set(counting, ref, undefined, now)
    }
    if (until <= now) return
    const expiresAt = Math.max(until, table.get(resets, ref)?.expiresAt ?? 0)
    const reset: Reset = { expiresAt, at: Math.max(now, resetAt([ref], now) + 1) }
    table.set(resets, ref, reset, now)
  }

  /** Commits what was granted; the level that it leaves. */
  const commit = (looked: Looked, granted: number, { count, mode }: StoreRequest, now: number): Level => {
    const { algorithm, parameters, view } = looked
    if (mode !== "peek" && granted > 0) {
      write(looked, algorithm.take(parameters, view, granted), now)
    } else if (mode !== "peek" && looked.entry !== undefined) {
      if (view.jumped) write(looked, algorithm.save(parameters, view), now)
    }
    return algorithm.level(parameters, view, granted < count)
  }

  const bookings = bookingsOn({ table, look, write, giveBack, resetAt, notReset })

  return {
    clock,

    decide(request) {
      const { policies, count, mode } = request
      const now = microseconds(clock)
      if (mode === "book") return bookings.book(request, now)
      if (mode === "charge") return bookings.charge(request, now)
      if (mode === "peek" && request.inspect !== undefined) {
        const { inspect: _, ...peek } = request
        return { ...this.decide(peek), stored: bookings.stored(request, now) }
      }
      let granted = count
      if (policies.length === 1 && mode !== "reserve") {
        const looked = look(policies[0] as PolicyRequest, now)
        granted = looked.algorithm.room(looked.parameters, looked.view, count)
        const level = commit(looked, granted, request, now)
        if (granted < count && hasGaps(looked)) return bookings.fillGaps(request, granted, now)
        return { granted, levels: [level], at: now }
      }
      const looked = policies.map((policy) => look(policy, now))
      granted = roomIn(looked, count)
      const levels = looked.map((each) => commit(each, granted, request, now))
      const reply =
        granted < count && looked.some(hasGaps)
          ? bookings.fillGaps(request, granted, now)
          : { granted, levels, at: now }
      if (mode === "reserve" && reply.granted > 0) bookings.reserve(request, now)
      return reply
    },

    giveBack(policies, at) {
      const now = microseconds(clock)
      giveBack(at === undefined ? policies : notReset(policies, at, now), at, now)
    },
    leave: (turn) => bookings.leave(turn, microseconds(clock)),
    settle: (settlement) => bookings.settle(settlement, microseconds(clock)),

    forget(refs) {
      const now = microseconds(clock)
      for (const ref of refs) forget(ref, now)
    },

    get size() {
      return table.size
    },
  }
}
