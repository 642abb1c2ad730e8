import type { PolicyRequest, StoreReply, Turn } from "sluice/store"
import type { LawBook } from "./law-book.js"
import type { Owner, Timeline } from "./timeline.js"

/** Somebody who waits. */
export interface Waiter {
  readonly owner: Owner
  /** The same for those of a process who wait for the same. */
  readonly line: string
  readonly since: number
  readonly stalled: number
  pending: boolean
}

/** A turn that a process holds. */
export interface HeldTurn {
  readonly due: number
  readonly parts: readonly PolicyRequest[]
  readonly answer: StoreReply
  /** How long the process had been held up when it was booked. */
  readonly stalled: number
}

interface Line {
  readonly waiters: Waiter[]
  readonly turns: HeldTurn[]
}

/** Microseconds by which a timer may be late. */
const LATE = 3_000

/** Who waits is woken when a turn of the line has come, in order, with a turn that nobody else has. */
export class WaitingLaws {
  readonly #book: LawBook
  readonly #timeline: Timeline
  readonly #lines = new Map<string, Line>()
  #woken: Waiter[] = []

  constructor(book: LawBook, timeline: Timeline) {
    this.#book = book
    this.#timeline = timeline
  }

  join(owner: Owner, line: string): Waiter {
    const waiter = { owner, line, since: this.#timeline.now, stalled: owner.stalled, pending: true }
    this.#line(line).waiters.push(waiter)
    return waiter
  }

  /** A turn is booked for a line. */
  booked(owner: Owner, line: string, policies: readonly PolicyRequest[], reply: StoreReply): void {
    // as the library counts it, to the last bit
    const due = this.#timeline.now / 1_000 + ((reply.turn ?? reply.at) - reply.at) / 1_000
    const { turns } = this.#line(line)
    let stateRef = turns.length
    while (stateRef > 0 && (turns[stateRef - 1] as HeldTurn).due > due) stateRef -= 1
    turns.splice(stateRef, 0, { due, parts: policies, answer: reply, stalled: owner.stalled })
  }

  /** A turn is given back; what is known of it. */
  left(from: string, { policies, at, receipt }: Turn): HeldTurn | undefined {
    for (const [name, { turns }] of this.#lines) {
      if (!name.startsWith(`${from} `)) continue
      const index = turns.findLastIndex((turn) => turn.parts === policies && turn.answer.receipt === receipt)
      if (index < 0) continue
      return turns.splice(index, 1)[0]
    }
    this.#book.breach("only a turn that is held is given back", `${from} turn ${at}`)
    return undefined
  }

  /** Somebody goes; the turn it goes by. */
  woken(waiter: Waiter): HeldTurn | undefined {
    const { turns } = this.#line(waiter.line)
    this.#woken.push(waiter)
    const turn = turns.shift()
    const now = this.#timeline.now / 1_000
    if (turn === undefined || turn.due > now) {
      const due = turn === undefined ? "and there is none" : `which is due at ${turn.due}`
      this.#book.breach("nobody goes before the turn", `${waiter.line} at ${now}, ${due}`)
    } else if (now > turn.due + (LATE + waiter.owner.stalled - turn.stalled) / 1_000) {
      this.#book.breach("nobody goes long after the turn", `${waiter.line} at ${now}, due at ${turn.due}`)
    }
    return turn
  }

  /** The wait is over, in whatever way. */
  settled(waiter: Waiter, longest: number): void {
    waiter.pending = false
    const { waiters } = this.#line(waiter.line)
    const took = this.#timeline.now - waiter.since - (waiter.owner.stalled - waiter.stalled)
    this.#book.require(
      took <= longest + LATE,
      "no wait is longer than the deadline and maxWait",
      () => `${waiter.line}: ${took / 1_000} ms, not ${longest / 1_000}`,
    )
    while (waiters[0]?.pending === false) waiters.shift()
  }

  /** After each event, when all that could settle has. */
  afterEvent(): void {
    if (this.#woken.length === 0) return
    for (const waiter of this.#woken) {
      const earlier = this.#line(waiter.line).waiters.find(({ pending }) => pending)
      this.#book.require(
        earlier === undefined || earlier.since >= waiter.since,
        "who came first goes first",
        () => `${waiter.line}: one of ${waiter.since} before one of ${earlier?.since}`,
      )
    }
    this.#woken = []
  }

  /** When a process is closed, and everything over. */
  checkEnd(from: string): void {
    for (const [name, { waiters, turns }] of this.#lines) {
      if (!name.startsWith(`${from} `)) continue
      this.#book.require(
        waiters.every(({ pending }) => !pending),
        "nobody waits for ever",
        () => name,
      )
      this.#book.require(turns.length === 0, "no turn is kept that nobody waits for", () => name)
    }
  }

  #line(name: string): Line {
    let line = this.#lines.get(name)
    if (line === undefined) {
      line = { waiters: [], turns: [] }
      this.#lines.set(name, line)
    }
    return line
  }
}
