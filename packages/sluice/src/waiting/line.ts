import type { Answer } from "../store.js"

/** Somebody who waits for a turn. */
export interface Waiter {
  /** Has the turn, or is told that there is none. */
  resolve(answer: Answer): void
  reject(reason: unknown): void
}

/** A turn that was booked, and when it comes by the timers of this process. */
interface BookedTurn {
  readonly due: number
  readonly answer: Answer
}

/** Milliseconds by which turns of the same moment may seem to come apart, for they are heard of one by one. */
const APART = 100
/** How many of the last turns are looked at: more of the same moment are seldom heard of out of order by more. */
const LOOKED_AT = 64

/**
 * Those in this process who wait for the same: turns and waiters, each in order. The first in line has the first
 * turn, whoever booked it; when somebody goes, all behind move up and the last turn is left over.
 */
export class Line {
  readonly name: string
  /** In the order of asking. */
  readonly #waiters = new Set<Waiter>()
  /** Soonest first. */
  readonly #turns: BookedTurn[] = []
  /** Who has asked and has no answer yet; true if that one has gone with the turn of another. */
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

  /** Has asked for a turn, until `answered` or `removeFor`. */
  asks(waiter: Waiter): void {
    this.#asking.set(waiter, false)
  }

  answered(waiter: Waiter): void {
    this.#asking.delete(waiter)
  }

  /** Takes a waiter out of the line; false if it is not in it any more. */
  remove(waiter: Waiter): boolean {
    return this.#waiters.delete(waiter)
  }

  /** Adds a turn that was booked, and comes at `due`. */
  add(due: number, answer: Answer): void {
    const turns = this.#turns
    let at = turns.length
    // seldom anywhere but at the end
    while (at > 0 && (turns[at - 1] as BookedTurn).due > due) at -= 1
    turns.splice(at, 0, { due, answer })
  }

  /** Gives the first in line its turn, if it has come. */
  serve(now: number): boolean {
    const [turn] = this.#turns
    const [waiter] = this.#waiters
    if (turn === undefined || waiter === undefined || turn.due > now) return false
    this.#turns.shift()
    this.#go(waiter, turn.answer)
    return true
  }

  /** Gives the first in line a turn that has come, if none is before it. */
  serveWith(answer: Answer): boolean {
    const [waiter] = this.#waiters
    if (waiter === undefined || this.#turns.length > 0) return false
    this.#go(waiter, answer)
    return true
  }

  /**
   * Takes away the last turn, if there is none in the line for it: of those that come last, the one that is last in the
   * store's line, which can be given back as if it had never been booked.
   */
  leftOver(): Answer | undefined {
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
   * Takes out who asked in vain. If that one has gone with the turn of another, one of those who have their own answers
   * goes without, the last of them: nobody waits for the answers to others who came later.
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

  /** Takes everybody out. */
  clear(): Waiter[] {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    return waiters
  }

  #go(waiter: Waiter, answer: Answer): void {
    this.#waiters.delete(waiter)
    if (this.#asking.has(waiter)) this.#asking.set(waiter, true)
    waiter.resolve(answer)
  }
}

/** Whether a turn is behind another in the line of the same store: of the same moment, the one that was booked later. */
function comesAfter(a: Answer, b: Answer): boolean {
  if (a.source !== b.source) return false
  const first = a.turn ?? a.at
  const second = b.turn ?? b.at
  return first === second ? a.at > b.at : first > second
}
