import type { Store } from "sluice"
import type { PolicyRequest, StateRef } from "sluice/store"
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

  executed({ asks: requests, outcomes, from, time, at }: Executed): void {
    for (const [i, request] of requests.entries()) {
      const outcome = outcomes[i]
      if (!isBlock(request) || outcome === undefined || outcome instanceof Error || outcome.granted === 0)
        continue
      for (const [j, policy] of request.parts.entries()) {
        const left = outcome.answer?.levels[j]?.[1] ?? 0
        const ends = policy.policy.algorithm === "fixedWindow" ? at + left : Number.POSITIVE_INFINITY
        this.#debits.set(`${from} ${at} ${placeName(policy)}`, { time, ends })
      }
    }
  }

  check(owner: Owner, { lease }: LimiterShape, policies: readonly PolicyRequest[], at: number): void {
    for (const policy of policies) {
      const what = () => `${owner.name} ${placeName(policy)} debited at ${at}`
      const debit = this.#debits.get(`${owner.name} ${at} ${placeName(policy)}`)
      this.#book.require(debit !== undefined, "what is leased was debited", what)
      if (debit === undefined) continue
      const { callersClock, steps } = this.#clocks
      const age = this.#timeline.now - debit.time
      const most = (lease?.time ?? 0) * 1_000 + (callersClock ? steps : 0)
      this.#book.require(age <= most, "a block is spent within its time", () => `${what()}, ${age} us ago`)
      const server = this.#serverOf(policy)
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
      decide: (request) => {
        const reply = store.decide(request)
        if (request.mode !== "spend" || request.count < 2) return reply
        return Promise.resolve(reply).then((told) => {
          if (told.granted > 0) this.#took(request.policies, told.granted)
          return told
        })
      },
      giveBack: (policies, at) => {
        if (at !== undefined && !this.passing) this.spent(policies)
        return store.giveBack(policies, at)
      },
      forget: (stateRefs) => {
        for (const stateRef of stateRefs) this.#unknown.add(placeName(stateRef))
        return store.forget(stateRefs)
      },
    }
  }

  spent(policies: readonly PolicyRequest[]): void {
    for (const policy of policies) this.#change(policy, -policy.cost)
  }

  #took(policies: readonly PolicyRequest[], times: number): void {
    for (const policy of policies) {
      const held = this.#change(policy, policy.cost * times)
      const most = limitOf(policy.policy) * this.#share
      this.#book.require(
        held <= most || this.#unknown.has(placeName(policy)),
        "no more than a share of the limit is held",
        () => `${this.#name} ${placeName(policy)}: ${held} of ${most}`,
      )
    }
  }

  #change(stateRef: StateRef, units: number): number {
    const held = (this.#held.get(placeName(stateRef)) ?? 0) + units
    this.#held.set(placeName(stateRef), held)
    return held
  }
}
