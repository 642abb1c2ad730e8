/** Milliseconds over which failures are counted. */
const STRETCH = 1_000
/** The circuit opens after this many failures in that time, if they are at least this share of all replies. */
const FAILURES = 5
const SHARE = 0.5
/** It also opens after this many failures in a row, over any length of time. */
const IN_A_ROW = 5
/** Milliseconds until the first probe. The pause doubles after each failed probe, up to the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 5_000

/**
 * A circuit breaker. It opens when at least half of the recent calls failed, and at least five. While it is open, only one
 * probe at a time reaches the store, after growing pauses. The first success closes it.
 */
export class Breaker {
  readonly #now: () => number
  readonly #random: () => number
  readonly #onChange: (reachable: boolean, error: unknown) => void
  #since = 0
  #answers = 0
  #failures = 0
  #inARow = 0
  #pause = 0
  #probeAt = 0
  #probing = false
  /** The last error, while the circuit is open. */
  error: unknown

  constructor(
    now: () => number,
    onChange: (reachable: boolean, error: unknown) => void,
    random: () => number = Math.random,
  ) {
    this.#now = now
    this.#onChange = onChange
    this.#random = random
  }

  get isOpen(): boolean {
    return this.#pause > 0
  }

  /** Whether the circuit is closed and the last call succeeded. */
  get isSound(): boolean {
    return !this.isOpen && this.#inARow === 0
  }

  /** Milliseconds until the next probe. */
  get untilProbe(): number {
    return Math.max(this.#probeAt - this.#now(), 1)
  }

  /** Whether a call may go to the store. If the circuit is open, an admitted call is the probe. */
  admits(): boolean {
    if (!this.isOpen) return true
    if (this.#probing || this.#now() < this.#probeAt) return false
    this.#probing = true
    return true
  }

  /** The admitted call did not reach the store, so the next call may be the probe. */
  unasked(): void {
    this.#probing = false
  }

  succeeded(): void {
    this.#inARow = 0
    if (!this.isOpen) {
      this.#answers += 1
      return
    }
    // A reply that arrives after its deadline also closes the circuit: the store works.
    this.#pause = 0
    this.#probing = false
    this.#reset()
    this.error = undefined
    this.#onChange(true, undefined)
  }

  failed(error: unknown): void {
    if (this.isOpen) {
      if (this.#probing) this.#wait(error, Math.min(this.#pause * 2, LONGEST_PAUSE))
      return
    }
    const now = this.#now()
    if (now - this.#since > STRETCH || now < this.#since) this.#reset()
    this.#answers += 1
    this.#failures += 1
    this.#inARow += 1
    const often = this.#failures >= FAILURES && this.#failures >= this.#answers * SHARE
    if (!often && this.#inARow < IN_A_ROW) return
    this.#wait(error, FIRST_PAUSE)
    this.#onChange(false, error)
  }

  #reset(): void {
    this.#since = this.#now()
    this.#answers = 0
    this.#failures = 0
  }

  /** Schedules the next probe, with jitter of up to a quarter, so that processes do not probe at the same moment. */
  #wait(error: unknown, pause: number): void {
    this.error = error
    this.#probing = false
    this.#pause = pause
    this.#probeAt = this.#now() + pause * (1 + this.#random() / 4)
  }
}
