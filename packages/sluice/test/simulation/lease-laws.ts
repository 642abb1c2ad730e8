import type { Part, Place, Store } from "sluice"
import { limitOf } from "../support/policy-kinds.js"
import type { Clocks, ServerOf } from "./cache-laws.js"
import type { LawBook } from "./law-book.js"
import { placeName, type WireAsk } from "./script-call.js"
import type { LimiterShape } from "./shape.js"
import type { Executed } from "./simulated-server.js"
import { EPOCH, type Owner, type Timeline } from "./timeline.js"

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

/** What a limiter holds of each key: no more than a share of the limit lies unused in a process. */
export class Holdings {
  readonly #name: string
  readonly #share: number
  readonly #book: LawBook
  readonly #held = new Map<string, number>()
  /** What a reset takes with it is not seen. */
  readonly #unknown = new Set<string>()
  /** Whether somebody gives back through the leases, rather than they themselves. */
  passing = false

  constructor(name: string, share: number, book: LawBook) {
    this.#name = name
    this.#share = share
    this.#book = book
  }

  /** What leases ask of the store beneath. */
  beneath(store: Store): Store {
    return {
      ...store,
      ask: (ask) => {
        const answer = store.ask(ask)
        if (ask.mode !== "spend" || ask.count < 2) return answer
        return Promise.resolve(answer).then((told) => {
          if (told.granted > 0) this.#took(ask.parts, told.granted)
          return told
        })
      },
      giveBack: (parts, at) => {
        if (at !== undefined && !this.passing) this.spent(parts)
        return store.giveBack(parts, at)
      },
      forget: (places) => {
        for (const place of places) this.#unknown.add(placeName(place))
        return store.forget(places)
      },
    }
  }

  spent(parts: readonly Part[]): void {
    for (const part of parts) this.#change(part, -part.cost)
  }

  #took(parts: readonly Part[], times: number): void {
    for (const part of parts) {
      const held = this.#change(part, part.cost * times)
      const most = limitOf(part.policy) * this.#share
      this.#book.require(
        held <= most || this.#unknown.has(placeName(part)),
        "no more than a share of the limit is held",
        () => `${this.#name} ${placeName(part)}: ${held} of ${most}`,
      )
    }
  }

  #change(place: Place, units: number): number {
    const held = (this.#held.get(placeName(place)) ?? 0) + units
    this.#held.set(placeName(place), held)
    return held
  }
}
