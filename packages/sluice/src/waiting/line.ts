import type { Answer } from "../store.js"

/** Somebody who waits for a turn. */
export interface Waiter {
  /** Has the turn, or is told that there is none. */
  resolve(answer: Answer): void
  reject(reason: unknown): void
}

/**
 * Those in this process who wait for the same: turns and waiters, each in order. The first in line has the first
 * turn, whoever booked it; when somebody goes, all behind move up and the last turn is left over.
 */
export class Line {
  readonly name: string
  /** In the order of asking. */
  readonly #waiters = new Set<Waiter>()
  /** In the order of the store's line, whose last turn is the one to be given back as if it had never been booked. */
  readonly #turns: Answer[] = []
  /**
   * When they come by the timers of this process, soonest first: turns of nearly the same moment may be heard of in another
   * order. Each is no sooner than its turn, so the first of these is no sooner than the first of those, and so on.
   */
  readonly #dues: number[] = []
  /** Who has asked and has no answer yet; true if that one has gone with the turn of another. */
  readonly #asking = new Map<Waiter, boolean>()

  constructor(name: string) {
    this.name = name
  }

  get dues(): readonly number[] {
    return this.#dues
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
  add(due: number, turn: Answer): void {
    insert(this.#turns, turn, comesAfter)
    insert(this.#dues, due, (a, b) => a > b)
  }

  /** Gives the first in line its turn, if it has come. */
  serve(now: number): boolean {
    const [due] = this.#dues
    const [waiter] = this.#waiters
    if (due === undefined || waiter === undefined || due > now) return false
    this.#dues.shift()
    this.#go(waiter, this.#turns.shift() as Answer)
    return true
  }

  /** Gives the first in line a turn that has come, if none is before it. */
  serveWith(answer: Answer): boolean {
    const [waiter] = this.#waiters
    if (waiter === undefined || this.#turns.length > 0) return false
    this.#go(waiter, answer)
    return true
  }

  /** Takes away the last turn, if there is none in the line for it. */
  leftOver(): Answer | undefined {
    if (this.#turns.length <= this.#waiters.size) return undefined
    this.#dues.pop()
    return this.#turns.pop()
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

/** Puts something in its place in a list; seldom anywhere but at the end. */
function insert<T>(list: T[], added: T, isAfter: (a: T, b: T) => boolean): void {
  let at = list.length
  while (at > 0 && isAfter(list[at - 1] as T, added)) at -= 1
  list.splice(at, 0, added)
}

/** Whether a turn is behind another in the store's line: of the same moment, the one that was booked later. */
function comesAfter(a: Answer, b: Answer): boolean {
  const [first, second] = [a.turn ?? a.at, b.turn ?? b.at]
  return first === second ? a.at > b.at : first > second
}
