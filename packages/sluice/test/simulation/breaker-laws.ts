import type { Timeline } from "./timeline.js"

/** Microseconds of the first pause, and of the longest; each may be a quarter longer. */
const FIRST = 100_000
const LONGEST = 5_000_000

/** How many failures open a circuit. One that says that the server cannot write is none of them. */
const FAILURES = 5

type Require = (holds: boolean, law: string, what: () => string) => void

/** While a store is given up, one ask at a time looks for it, after longer and longer pauses: no sooner, and not later. */
export class BreakerLaws {
  readonly #timeline: Timeline
  readonly #require: Require
  #open = false
  #pause = FIRST
  #since = 0
  #probing = false
  /** How many failures have counted since the circuit was last closed. */
  #failures = 0

  constructor(timeline: Timeline, require: Require) {
    this.#timeline = timeline
    this.#require = require
  }

  /** Whether enough has failed to give up the store, with `more` failures that were not told of yet. */
  mayOpen(more: number): boolean {
    return this.#failures + more >= FAILURES
  }

  changed(reachable: boolean): void {
    if (reachable) this.#failures = 0
    this.#open = !reachable
    this.#pause = FIRST
    this.#since = this.#timeline.now
    this.#probing = false
  }

  /** The store is asked, though it may be given up. */
  asked(): void {
    if (!this.#open) return
    const waited = this.#timeline.now - this.#since
    this.#require(!this.#probing, "one at a time looks for a store", () => "there is one")
    this.#require(
      waited >= this.#pause,
      "nobody looks before the pause is over",
      () => `${waited / 1_000} ms`,
    )
    this.#probing = true
  }

  /** Nobody has looked after all. */
  unasked(): void {
    this.#probing = false
  }

  /** Somebody is answered without the store. */
  spared(): void {
    if (!this.#open || this.#probing) return
    const waited = this.#timeline.now - this.#since
    const most = this.#pause * 1.25
    this.#require(waited <= most, "a store is looked for again", () => `${waited / 1_000} ms`)
  }

  /** A call that was asked has failed, or is given up. */
  failed(unwritten: boolean): void {
    if (!unwritten) this.#failures += 1
    if (!this.#open || !this.#probing) return
    this.#probing = false
    this.#pause = Math.min(this.#pause * 2, LONGEST)
    this.#since = this.#timeline.now
  }
}
