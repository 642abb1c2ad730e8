import { monotonic } from "../clock.js"
import { soon, unref } from "../runtime.js"

/** A call with a deadline. */
export interface Due {
  /** Milliseconds, by the monotonic clock. */
  startedAt: number
  /** Neighbours in the list of pending calls. Cleared on removal, so that a finished call keeps no other in memory. */
  before: Due | undefined
  after: Due | undefined
  /** Called when the deadline passes. */
  expire(): void
}

/** Deadlines of equal length that share one timer. */
export class Deadlines {
  readonly #ms: number
  /** In the order in which they are due. */
  #first: Due | undefined
  #last: Due | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls `due.expire` after the deadline, unless `due` is removed before. */
  add(due: Due): void {
    due.startedAt = monotonic()
    due.before = this.#last
    if (this.#last === undefined) this.#first = due
    else this.#last.after = due
    this.#last = due
    this.#timer ??= this.#wakeIn(this.#ms)
  }

  remove(due: Due): void {
    const { before, after } = due
    if (before !== undefined) before.after = after
    else if (this.#first === due) this.#first = after
    else return
    if (after !== undefined) after.before = before
    else this.#last = before
    due.before = undefined
    due.after = undefined
  }

  #wakeIn(ms: number): NodeJS.Timeout {
    // `soon` runs after replies that arrived while this process was busy, so that they still count as in time.
    // It must not be unref'd: in a quiet process it would wait until something else happens.
    return unref(setTimeout(() => soon(() => this.#sweep()), Math.ceil(ms)))
  }

  #sweep(): void {
    const now = monotonic()
    try {
      // `#timer` is still set here, so calls added by `expire` start no timer of their own.
      for (let due = this.#first; due !== undefined && this.#msLeft(due, now) <= 0; due = this.#first) {
        this.remove(due)
        due.expire()
      }
    } finally {
      this.#timer =
        this.#first === undefined
          ? undefined
          : this.#wakeIn(Math.min(this.#msLeft(this.#first, now), this.#ms))
    }
  }

  #msLeft({ startedAt }: Due, now: number): number {
    return startedAt + this.#ms - now
  }
}
