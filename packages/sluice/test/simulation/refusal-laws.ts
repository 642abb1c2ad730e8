import { countingOf, type Level, type PolicyRequest, parametersOf, type StateRef } from "sluice/store"
import { windowOf } from "../../src/policy.js"
import type { Clocks, ServerOf } from "./cache-laws.js"
import type { LawBook } from "./law-book.js"
import { placeName, type WireAsk } from "./script-call.js"
import type { Executed } from "./simulated-server.js"

/** Modes that may spend into debt, which lies as far ahead as turns do. */
const debtors: ReadonlySet<string> = new Set(["charge", "settle"])

/** How many gaps between turns a state keeps. */
const MOST_GAPS = 8

/** When a turn comes, by the server's clock, and when it was booked. */
interface KnownTurn {
  readonly comes: number
  readonly bookedAt: number
}

/** Waiters refuse nobody and lock no key, and an exhausted key stays exhausted while its server can say so. */
export class RefusalLaws {
  readonly #book: LawBook
  readonly #serverOf: ServerOf
  readonly #clocks: Clocks
  /** The turns of a place, by their receipts. */
  readonly #turns = new Map<string, Map<string, KnownTurn>>()
  readonly #owedAt = new Map<string, number>()
  readonly #spentAt = new Map<string, number>()

  constructor(book: LawBook, serverOf: ServerOf, clocks: Clocks) {
    this.#book = book
    this.#serverOf = serverOf
    this.#clocks = clocks
  }

  executed({ asks, outcomes, at, time }: Executed): void {
    for (const [i, ask] of asks.entries()) {
      const outcome = outcomes[i]
      if (outcome === undefined || outcome instanceof Error) continue
      const { mode, parts, count } = ask
      for (const part of parts) {
        const place = placeName(part)
        if (debtors.has(mode)) this.#owedAt.set(place, time)
        if (mode !== "peek") this.#spentAt.set(place, time)
      }
      const { turn, receipt = [] } = outcome.answer ?? {}
      if (mode === "book" && outcome.granted > 0) {
        for (const part of parts)
          this.#turnsOf(part).set(String(receipt), { comes: turn ?? at, bookedAt: time })
      } else if (mode === "book") {
        // Only the last ask of a call can be compared with the state that it has left.
        if (i === asks.length - 1) this.#checkRefused(ask, at)
      } else if (mode === "leave") {
        const left = String((count as readonly number[]).slice(1))
        for (const part of parts) {
          const known = this.#turnsOf(part).get(left)
          this.#turnsOf(part).delete(left)
          if (i === asks.length - 1) this.#checkUnlocked(part, known, at)
        }
      }
    }
  }

  /** Somebody was let pass because the server could not write. */
  admittedUnwritten(policies: readonly PolicyRequest[], since: number): void {
    if (this.#clocks.callersClock) return
    const [first] = policies as [PolicyRequest]
    const server = this.#serverOf(first)
    if (server.disturbedAt >= since) return
    if (policies.some((policy) => (this.#spentAt.get(placeName(policy)) ?? -1) >= since)) return
    const { granted } = server.look(peekOf(policies))
    this.#book.require(
      granted > 0,
      "an exhausted key is never admitted while the store could still deny it",
      () => placeName(first),
    )
  }

  #checkRefused(ask: WireAsk, at: number): void {
    // A leaky bucket has those who wait go evenly, and others at once.
    if (ask.parts.some(({ policy }) => policy.algorithm === "leakyBucket")) return
    const { granted } = this.#serverOf(ask.parts[0] as StateRef).look(peekOf(ask.parts), at)
    this.#book.require(
      granted === 0,
      "no request that the store would grant now is refused because of waiters",
      () => ask.signature,
    )
  }

  /** When a turn is given up, a request for one unit passes by then, whoever waits behind it. */
  #checkUnlocked(part: PolicyRequest, left: KnownTurn | undefined, at: number): void {
    if (this.#clocks.callersClock || left === undefined || left.comes <= at) return
    const coming = [...this.#turnsOf(part).values()].filter(({ comes }) => comes > at)
    // between more turns there may be more gaps than are kept
    if (coming.length > MOST_GAPS && coming.some(({ comes }) => comes >= left.comes)) return
    const place = placeName(part)
    const server = this.#serverOf(part)
    if (server.disturbedAt >= left.bookedAt || (this.#owedAt.get(place) ?? -1) >= left.bookedAt) return
    const one = { ...part, cost: 1 }
    const { granted, answer } = server.look(peekOf([one]), at)
    if (granted > 0) return
    const isLog = part.policy.algorithm.startsWith("sliding")
    const { algorithm } = countingOf(part.policy)
    // A log has the turn free at the very microsecond at which it comes. Waiters get it. Others are told whole milliseconds.
    const wait = isLog
      ? (server.look(bookNow(one), at).answer?.turn ?? at) - at
      : algorithm.wait(parametersOf(part.policy, 1), answer?.levels[0] as Level)
    // a log counts what was admitted in a gap until the last of it expires
    const slack = isLog ? windowOf(part.policy) * 1_000 : 0
    this.#book.require(
      wait <= left.comes - at + slack,
      "aborted waiters lock no key",
      () => `${place}: ${wait} µs, ${left.comes - at} before`,
    )
  }

  #turnsOf(stateRef: StateRef): Map<string, KnownTurn> {
    const place = placeName(stateRef)
    let turns = this.#turns.get(place)
    if (turns === undefined) {
      turns = new Map()
      this.#turns.set(place, turns)
    }
    return turns
  }
}

/** A booking that is refused unless its turn is now. It says when the turn would be. */
function bookNow(part: PolicyRequest): WireAsk {
  return { mode: "book", count: 0, parts: [part], note: undefined, signature: "" }
}

function peekOf(parts: readonly PolicyRequest[]): WireAsk {
  return { mode: "peek", count: 1, parts, note: undefined, signature: "" }
}
