import type { Part, Place } from "sluice"
import type { LawBook } from "./law-book.js"
import { placeName, type WireAsk } from "./script-call.js"
import type { LimiterShape } from "./shape.js"
import type { Executed, SimulatedServer } from "./simulated-server.js"
import { EPOCH, type Owner, type Timeline } from "./timeline.js"

/** Microseconds for which a denial is remembered at the most. */
const LONGEST = 1_000_000

const gives: ReadonlySet<string> = new Set(["give", "leave", "settle", "forget"])

/** The clocks of processes. */
export interface Clocks {
  /** Whether scripts go by them. */
  readonly callersClock: boolean
  /** Microseconds by which one is put right, in all, in a time that matters. */
  readonly steps: number
  /** Microseconds by which one may be off from another, if scripts go by them. */
  readonly disagree: number
}

type ServerOf = (place: Place) => SimulatedServer

/** A denial from memory is one that the store would give, unless somebody else has given something in the last second. */
export class CacheLaws {
  readonly #book: LawBook
  readonly #timeline: Timeline
  readonly #serverOf: ServerOf
  readonly #clocks: Clocks
  readonly #gifts = new Map<string, Map<string, number>>()
  readonly #underWay = new Map<string, number>()

  constructor(book: LawBook, timeline: Timeline, serverOf: ServerOf, clocks: Clocks) {
    this.#book = book
    this.#timeline = timeline
    this.#serverOf = serverOf
    this.#clocks = clocks
  }

  executed({ asks, from, time }: Executed): void {
    for (const { mode, parts } of asks) {
      if (!gives.has(mode)) continue
      for (const part of parts) {
        const place = placeName(part)
        const gifts = this.#gifts.get(place) ?? new Map<string, number>()
        this.#gifts.set(place, gifts.set(from, time))
      }
    }
  }

  /** A process gives something, until what it returns is called. */
  giftUnderWay(from: string, places: readonly Place[]): () => void {
    const names = places.map((place) => `${from} ${placeName(place)}`)
    for (const name of names) this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + 1)
    return () => {
      for (const name of names) this.#underWay.set(name, (this.#underWay.get(name) as number) - 1)
    }
  }

  check(owner: Owner, parts: readonly Part[]): void {
    // clocks of callers that disagree make of one second another
    if (this.#clocks.callersClock) return
    const [first] = parts as [Part]
    const server = this.#serverOf(first)
    const seen = server.look({ mode: "peek", count: 1, parts, note: undefined, signature: "" })
    if (seen.granted === 0) return
    const since = this.#timeline.now - LONGEST
    const excused =
      server.disturbedAt >= since ||
      parts.some((part) => {
        const place = placeName(part)
        if ((this.#underWay.get(`${owner.name} ${place}`) ?? 0) > 0) return true
        const gifts = [...(this.#gifts.get(place) ?? [])]
        return gifts.some(([from, time]) => from !== owner.name && time >= since)
      })
    this.#book.require(excused, "no denial from memory of what the store would let pass", () => {
      return `${owner.name} ${placeName(first)}`
    })
  }
}

/** A block is spent within its time, and no longer than the window it was taken from. */
export class LeaseLaws {
  readonly #book: LawBook
  readonly #timeline: Timeline
  readonly #serverOf: ServerOf
  readonly #clocks: Clocks
  readonly #debits = new Map<string, { readonly time: number; readonly ends: number }>()
  constructor(book: LawBook, timeline: Timeline, serverOf: ServerOf, clocks: Clocks) {
    this.#book = book
    this.#timeline = timeline
    this.#serverOf = serverOf
    this.#clocks = clocks
  }

  executed({ asks, outcomes, from, time, at }: Executed): void {
    for (const [i, ask] of asks.entries()) {
      const outcome = outcomes[i]
      if (!isBlock(ask) || outcome === undefined || outcome instanceof Error || outcome.granted === 0)
        continue
      for (const [j, part] of ask.parts.entries()) {
        const left = outcome.answer?.levels[j]?.[1] ?? 0
        const ends = part.policy.algorithm === "fixedWindow" ? at + left : Number.POSITIVE_INFINITY
        this.#debits.set(`${from} ${at} ${placeName(part)}`, { time, ends })
      }
    }
  }

  check(owner: Owner, { lease }: LimiterShape, parts: readonly Part[], at: number): void {
    for (const part of parts) {
      const what = () => `${owner.name} ${placeName(part)} debited at ${at}`
      const debit = this.#debits.get(`${owner.name} ${at} ${placeName(part)}`)
      this.#book.require(debit !== undefined, "what is leased was debited", what)
      if (debit === undefined) continue
      const { callersClock, steps } = this.#clocks
      const age = this.#timeline.now - debit.time
      const most = (lease?.time ?? 0) * 1_000 + (callersClock ? steps : 0)
      this.#book.require(age <= most, "a block is spent within its time", () => `${what()}, ${age} us ago`)
      const server = this.#serverOf(part)
      // a server that has taken over goes by another clock
      const now = callersClock ? EPOCH + this.#timeline.now + owner.skew - steps : server.us
      const within = now < debit.ends || server.disturbedAt >= debit.time
      this.#book.require(within, "a block ends with its window", what)
    }
  }
}

function isBlock({ mode, count }: WireAsk): boolean {
  return mode === "spend" && typeof count === "number" && count > 1
}
