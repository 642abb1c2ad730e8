/** Milliseconds over which failures are counted. */
const STRETCH = 1_000
/** How many failures in a stretch it takes, and what share of all answers. */
const FAILURES = 5
const SHARE = 0.5
/** How many in a row are enough, in however long a time. */
const IN_A_ROW = 5
/** Milliseconds until the first probe, doubled after each that fails, up to the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 5_000

/**
 * Says whether a store is worth asking. It is given up when half of the answers or more, and enough of them, were
 * failures; then one ask at a time goes to look, after longer and longer pauses, until one succeeds.
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
  /** What failed last, while the store is given up. */
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

  /** Whether the last answer was one. */
  get isSound(): boolean {
    return !this.isOpen && this.#inARow === 0
  }

  /** Milliseconds until somebody may look again. */
  get untilProbe(): number {
    return Math.max(this.#probeAt - this.#now(), 1)
  }

  /** Whether the store is to be asked; if it is given up, whoever is told so looks whether it answers again. */
  admits(): boolean {
    if (!this.isOpen) return true
    if (this.#probing || this.#now() < this.#probeAt) return false
    this.#probing = true
    return true
  }

  /** Nobody has looked after all: the next one does. */
  unasked(): void {
    this.#probing = false
  }

  succeeded(): void {
    this.#inARow = 0
    if (!this.isOpen) {
      this.#answers += 1
      return
    }
    // also an answer that was given up already: the store is there
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

  /** Has the next probe go out later by up to a quarter, so that processes do not look at the same moment. */
  #wait(error: unknown, pause: number): void {
    this.error = error
    this.#probing = false
    this.#pause = pause
    this.#probeAt = this.#now() + pause * (1 + this.#random() / 4)
  }
}
