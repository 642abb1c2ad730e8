import type { PolicyRequest, StateRef } from "sluice/store"
import type { LawBook } from "./law-book.js"
import { placeName } from "./script-call.js"
import type { Executed, SimulatedServer } from "./simulated-server.js"
import type { Owner, Timeline } from "./timeline.js"

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

export type ServerOf = (stateRef: StateRef) => SimulatedServer

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

  executed({ asks: requests, from, time }: Executed): void {
    for (const { mode, parts: policies } of requests) {
      if (!gives.has(mode)) continue
      for (const policy of policies) {
        const stateRef = placeName(policy)
        const gifts = this.#gifts.get(stateRef) ?? new Map<string, number>()
        this.#gifts.set(stateRef, gifts.set(from, time))
      }
    }
  }

  /** A process gives something, until what it returns is called. */
  giftUnderWay(from: string, stateRefs: readonly StateRef[]): () => void {
    const names = stateRefs.map((stateRef) => `${from} ${placeName(stateRef)}`)
    for (const name of names) this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + 1)
    return () => {
      for (const name of names) this.#underWay.set(name, (this.#underWay.get(name) as number) - 1)
    }
  }

  check(owner: Owner, policies: readonly PolicyRequest[]): void {
    // clocks of callers that disagree make of one second another
    if (this.#clocks.callersClock) return
    const [first] = policies as [PolicyRequest]
    const server = this.#serverOf(first)
    const seen = server.look({ mode: "peek", count: 1, parts: policies, note: undefined, signature: "" })
    if (seen.granted === 0) return
    const since = this.#timeline.now - LONGEST
    const excused =
      server.disturbedAt >= since ||
      policies.some((policy) => {
        const stateRef = placeName(policy)
        if ((this.#underWay.get(`${owner.name} ${stateRef}`) ?? 0) > 0) return true
        const gifts = [...(this.#gifts.get(stateRef) ?? [])]
        return gifts.some(([from, time]) => from !== owner.name && time >= since)
      })
    this.#book.require(excused, "no denial from memory of what the store would let pass", () => {
      return `${owner.name} ${placeName(first)}`
    })
  }
}
