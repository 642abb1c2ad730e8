import type { StoreReply } from "../store.js"

/** A request that waits for a turn. */
export interface Waiter {
  /** Settles it with its turn, or with a denial. */
  resolve(reply: StoreReply): void
  reject(reason: unknown): void
}

/** A booked turn, and when it comes by the timers of this process. */
interface BookedTurn {
  readonly due: number
  readonly answer: StoreReply
}

/** Turns of the same moment can differ by up to this many milliseconds here, because their replies arrive one by one. */
const APART = 100
/** How many of the last turns are compared. Replies seldom arrive more than this out of order. */
const LOOKED_AT = 64

/**
 * The queue of this process for one key, policy and cost. It holds waiters and booked turns, each in order. The first waiter
 * gets the first turn, even if another waiter booked it. When a waiter leaves, the others move up and the last turn is
 * given back.
 */
export class Line {
  readonly name: string
  /** In the order of their requests. */
  readonly #waiters = new Set<Waiter>()
  /** Soonest first. */
  readonly #turns: BookedTurn[] = []
  /** Waiters whose booking has no reply yet. True if the waiter has already left with another waiter's turn. */
  readonly #asking = new Map<Waiter, boolean>()

  constructor(name: string) {
    this.name = name
  }

  get dues(): readonly number[] {
    return this.#turns.map(({ due }) => due)
  }

  get isEmpty(): boolean {
    return this.#waiters.size === 0 && this.#asking.size === 0
  }

  join(waiter: Waiter): void {
    this.#waiters.add(waiter)
  }

  /** Marks a waiter's booking as in flight, until `answered` or `removeFor`. */
  asks(waiter: Waiter): void {
    this.#asking.set(waiter, false)
  }

  answered(waiter: Waiter): void {
    this.#asking.delete(waiter)
  }

  /** Removes a waiter. False if it is no longer in the queue. */
  remove(waiter: Waiter): boolean {
    return this.#waiters.delete(waiter)
  }

  /** Adds a booked turn that comes at `due`. */
  add(due: number, reply: StoreReply): void {
    const turns = this.#turns
    let at = turns.length
    // Almost always at the end.
    while (at > 0 && (turns[at - 1] as BookedTurn).due > due) at -= 1
    turns.splice(at, 0, { due, answer: reply })
  }

  /** Gives the first waiter its turn, if the turn has come. */
  serve(now: number): boolean {
    const [turn] = this.#turns
    const [waiter] = this.#waiters
    if (turn === undefined || waiter === undefined || turn.due > now) return false
    this.#turns.shift()
    this.#go(waiter, turn.answer)
    return true
  }

  /** Gives the first waiter a turn that has come already, if no other turn is before it. */
  serveWith(reply: StoreReply): boolean {
    const [waiter] = this.#waiters
    if (waiter === undefined || this.#turns.length > 0) return false
    this.#go(waiter, reply)
    return true
  }

  /**
   * Removes and returns the last turn, if there are more turns than waiters. Among turns that come at about the same time, it
   * picks the last one in the store's queue. Giving back that one has no effect on other bookings.
   */
  leftOver(): StoreReply | undefined {
    const turns = this.#turns
    if (turns.length <= this.#waiters.size) return undefined
    let at = turns.length - 1
    let last = turns[at] as BookedTurn
    const from = last.due - APART
    const end = Math.max(turns.length - LOOKED_AT, 0)
    for (let i = at - 1; i >= end && (turns[i] as BookedTurn).due >= from; i -= 1) {
      const turn = turns[i] as BookedTurn
      if (comesAfter(turn.answer, last.answer)) [at, last] = [i, turn]
    }
    turns.splice(at, 1)
    return last.answer
  }

  /**
   * Removes the waiter whose booking failed, and returns it. If that waiter has already left with another's turn, one waiter
   * too many remains. Then the last waiter whose own booking has a reply is removed and returned instead.
   */
  removeFor(waiter: Waiter): Waiter | undefined {
    const hasGone = this.#asking.get(waiter) === true
    this.#asking.delete(waiter)
    if (this.#waiters.delete(waiter)) return waiter
    if (!hasGone) return undefined
    let toCome = this.#turns.length
    for (const gone of this.#asking.values()) if (gone) toCome += 1
    const answered = [...this.#waiters].filter((each) => !this.#asking.has(each))
    const last = answered.length > toCome ? answered.at(-1) : undefined
    if (last !== undefined) this.#waiters.delete(last)
    return last
  }

  /** In the order of their requests. */
  get waiters(): Waiter[] {
    return [...this.#waiters]
  }

  /** Whether a waiter's booking has no reply yet. */
  isAsking(waiter: Waiter): boolean {
    return this.#asking.has(waiter)
  }

  /** Removes and returns all turns, last one first. */
  clearTurns(): StoreReply[] {
    return this.#turns
      .splice(0)
      .map(({ answer }) => answer)
      .reverse()
  }

  /** Removes and returns all waiters. */
  clear(): Waiter[] {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    return waiters
  }

  #go(waiter: Waiter, reply: StoreReply): void {
    this.#waiters.delete(waiter)
    if (this.#asking.has(waiter)) this.#asking.set(waiter, true)
    waiter.resolve(reply)
  }
}

/** Whether turn `a` is behind turn `b` in the queue of one store. For equal times, the later booking is behind. */
function comesAfter(a: StoreReply, b: StoreReply): boolean {
  if (a.source !== b.source) return false
  const first = a.turn ?? a.at
  const second = b.turn ?? b.at
  return first === second ? a.at > b.at : first > second
}
