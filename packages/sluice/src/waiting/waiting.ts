import { Background } from "../background.js"
import { type Clock, timersOf } from "../clock.js"
import { isPromise } from "../deferred.js"
import type { Policy } from "../policy.js"
import type { StateRef } from "../state-key.js"
import type { PolicyRequest, Store, StoreReply } from "../store.js"
import { AbortListeners } from "./abort-listeners.js"
import { Agenda } from "./agenda.js"
import { Line, type Waiter } from "./line.js"
import { QueueRoom } from "./queue-room.js"
import type { Signal } from "./wait-options.js"

/** How many cancelled turns may stay in the agenda before it is rebuilt. */
const MOST_STALE = 1_024

/** The requests of this process that wait for a turn. */
export interface Waiting {
  /** The places in the queue. */
  readonly room: QueueRoom
  /** Resolves when the turn has come. Resolves with a denial at once if there is no turn within `maxWait` microseconds. */
  join(
    policies: readonly PolicyRequest[],
    maxWait: number,
    signal: Signal | undefined,
    /** The key that the place in the queue counts for. */
    key?: string,
  ): Promise<StoreReply>
  /** Gives the turns of some states back and books new ones in the same order, because their policies have changed. */
  rebook(matches: (state: StateRef) => boolean): void
  /** Rejects every waiter with a reason, and gives the turns back. */
  close(reason: unknown): Promise<void>
}

/**
 * Books turns in a store and resolves each waiter when its turn comes. All waiters share one timer, set to the next turn. A
 * signal has one listener, however many waiters use it.
 */
export function waiting(store: Store, clock: Clock | undefined, maxWaiters: number): Waiting {
  const timers = timersOf(clock)
  const lines = new Map<string, Line>()
  const agenda = new Agenda<Line>()
  const aborts = new AbortListeners()
  const background = new Background()
  const room = new QueueRoom(maxWaiters)
  const askedBy = new WeakMap<Waiter, Asked>()
  /** Waiters whose booking was under way when their policies changed. */
  const outdated = new WeakSet<Waiter>()
  let turns = 0
  let cancel = () => {}
  let setFor = Number.POSITIVE_INFINITY

  const wake = () => {
    const now = timers.now()
    while (agenda.next <= now) {
      const line = agenda.shift() as Line
      if (line.serve(now)) turns -= 1
      tidy(line)
    }
    setTimer()
  }

  const onTimer = () => {
    setFor = Number.POSITIVE_INFINITY
    wake()
  }

  const setTimer = () => {
    if (turns === 0) agenda.clear()
    const { next } = agenda
    // A timer for a cancelled turn may stay: it fires, serves no waiter and sets the next timer.
    if (next >= setFor && next < Number.POSITIVE_INFINITY) return
    cancel()
    setFor = next
    cancel = next < Number.POSITIVE_INFINITY ? timers.after(next - timers.now(), onTimer) : () => {}
  }

  /** Gives back turns without a waiter, and forgets an empty queue. */
  const tidy = (line: Line) => {
    for (let over = line.leftOver(); over !== undefined; over = line.leftOver()) giveBack(over)
    if (line.isEmpty && lines.get(line.name) === line) lines.delete(line.name)
    if (agenda.size > 2 * turns + MOST_STALE) {
      agenda.clear()
      for (const each of lines.values()) for (const due of each.dues) agenda.add(due, each)
    }
  }

  const giveBack = (reply: StoreReply) => {
    turns -= 1
    const { turn, receipt, parts: policies } = reply as Booked
    // If this fails, the turn stays booked and passes unused.
    background.run(() => store.leave({ policies, at: turn, receipt }))
  }

  const receive = (line: Line, waiter: Waiter, reply: StoreReply, policies: readonly PolicyRequest[]) => {
    const isOutdated = outdated.delete(waiter)
    if (reply.granted === 0) {
      line.removeFor(waiter)?.resolve(reply)
    } else if (isOutdated && line.waiters.includes(waiter)) {
      turns += 1
      giveBack({ ...reply, turn: reply.turn ?? reply.at, parts: policies } as Booked)
      bookAgain(line, waiter)
    } else {
      line.answered(waiter)
      const { turn = reply.at } = reply
      // A turn for now, with no other turn before it, needs no timer.
      if (turn > reply.at || !line.serveWith(reply)) {
        // Count from now, not from the decision, so that no waiter is woken before its turn.
        const due = timers.now() + (turn - reply.at) / 1_000
        line.add(due, { ...reply, parts: policies } as Booked)
        turns += 1
        agenda.add(due, line)
        if (turn === reply.at) wake()
      }
    }
    tidy(line)
    setTimer()
  }

  const book = (line: Line, waiter: Waiter, { policies, maxWait }: Asked) => {
    line.asks(waiter)
    background.run(() => {
      try {
        const reply = store.decide({ policies, count: 1, mode: "book", maxWait })
        if (!isPromise(reply)) return receive(line, waiter, reply, policies)
        return reply.then(
          (reply) => receive(line, waiter, reply, policies),
          (error: unknown) => fail(line, waiter, error),
        )
      } catch (error) {
        return fail(line, waiter, error)
      }
    })
  }

  const bookAgain = (line: Line, waiter: Waiter) => {
    const { policies, maxWait, at } = askedBy.get(waiter) as Asked
    const waited = (timers.now() - at) * 1_000
    book(line, waiter, { policies, maxWait: Math.max(maxWait - waited, 0), at })
  }

  const fail = (line: Line, waiter: Waiter, error: unknown) => {
    line.removeFor(waiter)?.reject(error)
    tidy(line)
    setTimer()
  }

  return {
    room,

    join(policies, maxWait, signal, key = (policies[0] as PolicyRequest).key) {
      return new Promise((resolve, reject) => {
        const name = nameOf(policies, maxWait)
        const line = lines.get(name) ?? new Line(name)
        lines.set(name, line)
        // With a `maxWait` of 0 the request waits only for the reply, and needs no place in the queue.
        const release = maxWait > 0 ? room.take(key) : () => {}
        let stopListening = () => {}
        const leave = () => {
          release()
          stopListening()
        }
        const waiter: Waiter = {
          resolve(reply) {
            leave()
            resolve(reply)
          },
          reject(reason) {
            leave()
            reject(reason)
          },
        }
        if (signal !== undefined) {
          stopListening = aborts.add(signal, () => {
            if (line.remove(waiter)) waiter.reject(signal.reason)
            tidy(line)
            setTimer()
          })
        }
        line.join(waiter)
        const asked = { policies, maxWait, at: timers.now() }
        askedBy.set(waiter, asked)
        book(line, waiter, asked)
      })
    },

    rebook(matches) {
      for (const line of [...lines.values()]) {
        const { waiters } = line
        // All waiters of a line have the same policies and keys.
        if (!waiters[0] || !askedBy.get(waiters[0])?.policies.some(matches)) continue
        for (const turn of line.clearTurns()) giveBack(turn)
        for (const waiter of waiters) {
          if (line.isAsking(waiter)) outdated.add(waiter)
          else bookAgain(line, waiter)
        }
      }
      setTimer()
    },

    async close(reason) {
      for (const line of [...lines.values()]) {
        for (const waiter of line.clear()) waiter.reject(reason)
        tidy(line)
      }
      setTimer()
      await background.settled()
    },
  }
}

/** A waiter's request: its policies, how many microseconds it may wait, and since when. */
interface Asked {
  readonly policies: readonly PolicyRequest[]
  readonly maxWait: number
  readonly at: number
}

/** The reply for a booked turn, with the policies it was booked under. */
type Booked = Required<Pick<StoreReply, "turn" | "receipt">> &
  StoreReply & { readonly parts: readonly PolicyRequest[] }

const policyNames = new WeakMap<Policy, string>()

/** The name of a queue. Requests for the same key, policies, costs and `maxWait` share it. */
function nameOf(policies: readonly PolicyRequest[], maxWait: number): string {
  const [{ key: first }] = policies as [PolicyRequest]
  let name = `${maxWait} ${policies.length}`
  for (const { ref, key, policy, cost } of policies) {
    let policyName = policyNames.get(policy)
    if (policyName === undefined) {
      policyName = JSON.stringify(policy)
      policyNames.set(policy, policyName)
    }
    // The id and the policy's JSON contain no line feed, so it separates them.
    name += `\n${ref.id}\n${policyName}\n${cost}`
    // A key may contain a line feed, so it is written as JSON.
    if (key !== first) name += `\n${JSON.stringify(key)}`
  }
  // The first key goes last unescaped: nothing follows that it could be confused with.
  return `${name}\n${first}`
}
