import { monotonic } from "../clock.js"
import { type Stretch, stretchAtHand } from "../stretch.js"

/** Something that must be over in time. */
export interface Due {
  /** In which it began. */
  stretch: Stretch | undefined
  /** Its neighbours among those that are not over; let go of when it is, or the dead would keep the living. */
  before: Due | undefined
  after: Due | undefined
  /** What happens when it is not over in time. */
  expire(): void
}

/** Deadlines that are all equally long, by one timer. Time counts from the end of the stretch in which something began. */
export class Deadlines {
  readonly #ms: number
  /** In the order in which they are due. */
  #first: Due | undefined
  #last: Due | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Has `due` expire when the time is over, unless it is removed before. */
  add(due: Due): void {
    due.stretch = stretchAtHand()
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
    // behind the answers that have come while this process was busy; without unref, which would have the immediate wait
    // until something else happens in a process that is quiet
    return setTimeout(() => setImmediate(() => this.#sweep()), Math.ceil(ms)).unref()
  }

  #sweep(): void {
    const now = monotonic()
    try {
      // what is added meanwhile sets no timer of its own
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

  #msLeft({ stretch }: Due, now: number): number {
    return (stretch as Stretch).endedAt + this.#ms - now
  }
}
