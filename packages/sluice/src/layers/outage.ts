import { Background } from "../background.js"
import { monotonic } from "../clock.js"
import { SluiceError, shown } from "../errors.js"
import { isPromise, Later, type Listener, tell } from "../later.js"
import { offerShortcut, shortcutOf } from "../shortcut.js"
import type { Place } from "../state-key.js"
import type { Answer, Ask, Guarded, Part, Store, Turn } from "../store.js"
import type { Stretch } from "../stretch.js"
import { Breaker } from "./breaker.js"
import { Deadlines, type Due } from "./deadlines.js"
import { type Fallback, fallbackOf } from "./fallback.js"
import type { OutageChange, OutageTerms } from "./outage-terms.js"

/**
 * Has an answer in time, whatever becomes of the store: no call is waited for past the deadline, none is made while the
 * store is given up, and what is said instead is as the policy for outages has it. What may have run is never sent
 * again; an answer that comes too late is taken back if nobody was let through by it.
 *
 * `shardOf` tells what places lie in of a store that can fail in part, of which there are a few: each is given up on its
 * own.
 */
export function outage(
  store: Store,
  { deadline, policy, onChange }: OutageTerms,
  shardOf?: (places: readonly Place[]) => string,
): Guarded {
  const deadlines = new Deadlines(deadline)
  const breakers = new Map<string, Breaker>()
  /** How many parts of the store are given up. */
  let missing = 0
  const background = new Background()
  const fallback: Fallback = fallbackOf(policy)
  let degraded = 0

  /** Whoever listens and fails does not keep callers from their answers. */
  const announce = (change: OutageChange) => {
    try {
      onChange(change)
    } catch (error) {
      process.emitWarning(`outage.onChange threw: ${error instanceof Error ? error.stack : shown(error)}`)
    }
  }

  const newBreaker = () =>
    new Breaker(monotonic, (reachable, error) => {
      missing += reachable ? -1 : 1
      if (reachable && missing === 0) announce({ reachable })
      if (!reachable && missing === 1) announce({ reachable, error })
    })
  const only = shardOf === undefined ? newBreaker() : undefined

  const breakerOf = (places: readonly Place[]): Breaker => {
    if (shardOf === undefined) return only as Breaker
    const shard = shardOf(places)
    let breaker = breakers.get(shard)
    if (breaker === undefined) {
      breaker = newBreaker()
      breakers.set(shard, breaker)
    }
    return breaker
  }

  const givenUp = (breaker: Breaker) =>
    new SluiceError(
      "STORE_REFUSED",
      "the store does not answer; it was not asked and will be again soon: see outage.then for an answer meanwhile",
      {
        cause: breaker.error,
      },
    )

  const judge = (breaker: Breaker, error: unknown) => {
    if (isOutage(error)) breaker.failed(error)
    else breaker.succeeded()
  }

  /** Gives back what was granted to somebody who has been answered without it. */
  const takeBack = (ask: Ask, { granted, at, turn, marks }: Answer) => {
    if (granted === 0 || policy === "open") return
    const { parts, mode, note } = ask
    background.run(() => {
      if (mode === "book" && turn !== undefined && marks !== undefined) {
        return store.leave({ parts, at: turn, marks })
      }
      if (mode === "reserve" && note !== undefined) {
        return store.settle({ place: note.place, back: parts, more: [], maxWait: 0 })
      }
      if (mode !== "spend") return
      return store.giveBack(granted === 1 ? parts : parts.map((part) => times(part, granted)), at)
    })
  }

  /** What is answered in place of the store; the error again if there is nothing to say. */
  const instead = <T>(breaker: Breaker, ask: Ask | undefined, error: unknown): T => {
    const answer = ask && isOutage(error) ? fallback.answer(ask, breaker.untilProbe) : undefined
    if (answer === undefined) throw error
    degraded += 1
    return answer as T
  }

  const unanswered = () =>
    new SluiceError("STORE_UNKNOWN", `no answer from the store within ${deadline} ms; the call may have run`)
  const guardian: Guardian = { deadlines, unanswered, judge, instead, takeBack }

  /** Has a call over in time; of an ask, what comes after that is taken back, and an error may have another answer. */
  const inTime = <T>(breaker: Breaker, called: T | PromiseLike<T>, ask?: Ask): T | PromiseLike<T> => {
    if (!isPromise(called)) {
      breaker.succeeded()
      return called
    }
    const awaited = new Awaited<T>(guardian, breaker, ask)
    deadlines.add(awaited)
    tell(called, awaited)
    return awaited
  }

  /** Tells a store that answers again what was spent here in the meantime, so that nothing is admitted twice. */
  const settleUp = (breaker: Breaker, ask: Ask) => {
    if (!breaker.isSound || !fallback.owes) return
    for (const owed of fallback.owed(ask.parts)) {
      background.run(async () => {
        const { part, maxWait } = owed
        try {
          const { at, granted } = await store.ask({ parts: [part], count: 1, mode: "charge", maxWait })
          // of what did not fit, not all may be owed: none of it is given back
          if (granted === 1) fallback.told(owed, at)
        } catch (error) {
          // what may have been charged is not charged twice
          if (wasRefused(error)) fallback.owe(owed)
        }
      })
    }
  }

  const guard = <T>(places: readonly Place[], call: () => T | PromiseLike<T>): T | PromiseLike<T> => {
    const breaker = breakerOf(places)
    if (!breaker.admits()) return nextTurn().then(() => Promise.reject(givenUp(breaker)))
    let called: T | PromiseLike<T>
    try {
      called = call()
    } catch (error) {
      judge(breaker, error)
      throw error
    }
    return inTime(breaker, called)
  }

  const guarded: Guarded = {
    ...(store.clock && { clock: store.clock }),

    get health() {
      return { reachable: missing === 0, degraded }
    },

    ask(ask) {
      const breaker = breakerOf(ask.parts)
      if (!breaker.admits()) return nextTurn().then(() => instead(breaker, ask, givenUp(breaker)))
      settleUp(breaker, ask)
      let answer: Answer | PromiseLike<Answer>
      try {
        answer = store.ask(ask)
      } catch (error) {
        judge(breaker, error)
        return instead(breaker, ask, error)
      }
      if (!isPromise(answer) && answer.source !== undefined) {
        // remembered here, or leased: it says nothing of the store
        breaker.unasked()
        return answer
      }
      return inTime(breaker, answer, ask)
    },

    giveBack: (parts, at) => guard(parts, () => store.giveBack(parts, at)),

    leave(turn: Turn) {
      if (fallback.leave(turn)) return
      return guard(turn.parts, () => store.leave(turn))
    },

    settle(settlement) {
      const settling = fallback.settle(settlement)
      if (settling === undefined) return guard([settlement.place], () => store.settle(settlement))
      const { debits } = settling
      const finish = () => {
        settling.finish()
        return true
      }
      if (debits.length === 0) return finish()
      const giveBack = async () => {
        for (const { part, at, done } of debits) {
          await store.giveBack([part], at)
          done()
        }
      }
      return Promise.resolve(guard([settlement.place], giveBack)).then(finish, (error: unknown) => {
        if (wasRefused(error)) settling.undo()
        else settling.finish()
        throw error
      })
    },

    forget(places) {
      const done = guard(places, () => store.forget(places))
      // not before, or who is told that it could not be done would find that it was
      return isPromise(done) ? done.then(() => fallback.forget(places)) : fallback.forget(places)
    },
  }
  return offerShortcut(guarded, (charged) => {
    const shortcut = shortcutOf(store, charged)
    if (shortcut === undefined) return undefined
    const owes = (key: string) => charged.some(({ scope }) => fallback.owesFor({ scope, key }))
    return (key) => (missing > 0 || (fallback.owes && owes(key)) ? undefined : shortcut(key))
  })
}

/** Whether an error says that the store cannot be had, rather than that one ask or one key is wrong. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof SluiceError)) return true
  if (error.cause instanceof Error && /^(WRONGTYPE|UNREADABLE) /.test(`${error.cause.message}`)) return false
  return error.code === "STORE_REFUSED" || error.code === "STORE_UNKNOWN"
}

/** Whether an error says that nothing was done. */
function wasRefused(error: unknown): boolean {
  return error instanceof SluiceError && error.code === "STORE_REFUSED"
}

/** Lets timers and sockets have their turn, so that who asks again and again does not keep the store from coming back. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function times(part: Part, count: number): Part {
  return { ...part, cost: part.cost * count }
}

/** What is done for those who wait for a call. */
interface Guardian {
  readonly deadlines: Deadlines
  /** Says that the deadline is over. */
  unanswered(): SluiceError
  judge(breaker: Breaker, error: unknown): void
  /** What is answered in place of the store; throws the error if there is nothing to say. */
  instead<T>(breaker: Breaker, ask: Ask | undefined, error: unknown): T
  /** Gives back what was granted to somebody who has been answered without it. */
  takeBack(ask: Ask, answer: Answer): void
}

/** The answer to a call until its deadline. */
class Awaited<T> extends Later<T> implements Due, Listener<T> {
  declare stretch: Stretch | undefined
  declare before: Due | undefined
  declare after: Due | undefined
  declare private isOver: boolean
  declare private readonly guardian: Guardian
  declare private readonly breaker: Breaker
  declare private readonly ask: Ask | undefined

  constructor(guardian: Guardian, breaker: Breaker, ask: Ask | undefined) {
    super()
    this.stretch = undefined
    this.before = undefined
    this.after = undefined
    this.isOver = false
    this.guardian = guardian
    this.breaker = breaker
    this.ask = ask
  }

  told(value: T): void {
    this.breaker.succeeded()
    if (!this.isOver) {
      this.guardian.deadlines.remove(this)
      this.resolve(value)
    } else if (this.ask !== undefined) this.guardian.takeBack(this.ask, value as Answer)
  }

  failed(error: unknown): void {
    // what was given up has failed once already
    if (this.isOver) return
    this.guardian.deadlines.remove(this)
    this.guardian.judge(this.breaker, error)
    this.answerInstead(error)
  }

  expire(): void {
    this.isOver = true
    const error = this.guardian.unanswered()
    this.breaker.failed(error)
    this.answerInstead(error)
  }

  private answerInstead(error: unknown): void {
    try {
      this.resolve(this.guardian.instead(this.breaker, this.ask, error))
    } catch (thrown) {
      this.reject(thrown)
    }
  }
}
