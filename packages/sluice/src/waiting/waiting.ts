import { Background } from "../background.js"
import { type Clock, timersOf } from "../clock.js"
import { isPromise } from "../later.js"
import type { Policy } from "../policy.js"
import type { Answer, Part, Store } from "../store.js"
import { AbortListeners } from "./abort-listeners.js"
import { Agenda } from "./agenda.js"
import { Line, type Waiter } from "./line.js"
import type { Signal } from "./terms.js"

/** How many turns that were given up may lie about in the agenda before it is put in order. */
const MOST_STALE = 1_024

/** Those in this process who wait for a turn. */
export interface Waiting {
  /** How many they are. */
  readonly size: number
  /** Resolves when the turn has come, or at once if there is none within `maxWait` microseconds. */
  join(parts: readonly Part[], maxWait: number, signal: Signal | undefined): Promise<Answer>
  /** Ends every wait with a reason, and gives the turns back. */
  close(reason: unknown): Promise<void>
}

/**
 * Books turns on a store and wakes who has one. There is one timer for all of them, set to the next turn; a signal
 * has one listener, however many wait by it.
 */
export function waiting(store: Store, clock: Clock | undefined): Waiting {
  const timers = timersOf(clock)
  const lines = new Map<string, Line>()
  const agenda = new Agenda<Line>()
  const aborts = new AbortListeners()
  const background = new Background()
  let size = 0
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
    // one that is set for a turn that was given up wakes nobody, and is set anew
    if (next >= setFor && next < Number.POSITIVE_INFINITY) return
    cancel()
    setFor = next
    cancel = next < Number.POSITIVE_INFINITY ? timers.after(next - timers.now(), onTimer) : () => {}
  }

  /** Gives back turns that nobody is in line for, and forgets a line that nobody is in. */
  const tidy = (line: Line) => {
    for (let over = line.leftOver(); over !== undefined; over = line.leftOver()) giveBack(over)
    if (line.isEmpty && lines.get(line.name) === line) lines.delete(line.name)
    if (agenda.size > 2 * turns + MOST_STALE) {
      agenda.clear()
      for (const each of lines.values()) for (const due of each.dues) agenda.add(due, each)
    }
  }

  const giveBack = (answer: Answer) => {
    turns -= 1
    const { turn, marks, parts } = answer as Booked
    // one that cannot be given back passes unused
    background.run(() => store.leave({ parts, at: turn, marks }))
  }

  const receive = (line: Line, waiter: Waiter, answer: Answer, parts: readonly Part[]) => {
    if (answer.granted === 0) {
      line.removeFor(waiter)?.resolve(answer)
    } else {
      line.answered(waiter)
      const { turn = answer.at } = answer
      // a turn that has come while nobody has one needs no timer
      if (turn > answer.at || !line.serveWith(answer)) {
        // counted from now, not from when it was decided: nobody is woken before the turn
        const due = timers.now() + (turn - answer.at) / 1_000
        line.add(due, { ...answer, parts } as Booked)
        turns += 1
        agenda.add(due, line)
        if (turn === answer.at) wake()
      }
    }
    tidy(line)
    setTimer()
  }

  const fail = (line: Line, waiter: Waiter, error: unknown) => {
    line.removeFor(waiter)?.reject(error)
    tidy(line)
    setTimer()
  }

  return {
    get size() {
      return size
    },

    join(parts, maxWait, signal) {
      return new Promise((resolve, reject) => {
        const name = nameOf(parts, maxWait)
        const line = lines.get(name) ?? new Line(name)
        lines.set(name, line)
        let stopListening = () => {}
        const leave = () => {
          size -= 1
          stopListening()
        }
        const waiter: Waiter = {
          resolve(answer) {
            leave()
            resolve(answer)
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
        size += 1
        line.join(waiter)
        line.asks(waiter)
        background.run(() => {
          try {
            const answer = store.ask({ parts, count: 1, mode: "book", maxWait })
            if (!isPromise(answer)) return receive(line, waiter, answer, parts)
            return answer.then(
              (told) => receive(line, waiter, told, parts),
              (error: unknown) => fail(line, waiter, error),
            )
          } catch (error) {
            return fail(line, waiter, error)
          }
        })
      })
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

/** An answer that is a turn, with what it is a turn of. */
type Booked = Required<Pick<Answer, "turn" | "marks">> & Answer & { readonly parts: readonly Part[] }

const policyNames = new WeakMap<Policy, string>()

/** The same for those who wait for the same. */
function nameOf(parts: readonly Part[], maxWait: number): string {
  let name = `${maxWait} ${parts.length}`
  for (const { scope, policy, cost } of parts) {
    let policyName = policyNames.get(policy)
    if (policyName === undefined) {
      policyName = JSON.stringify(policy)
      policyNames.set(policy, policyName)
    }
    // neither has a line feed in it
    name += `\n${scope.id}\n${policyName}\n${cost}`
  }
  // last, because it may be anything
  return `${name}\n${(parts[0] as Part).key}`
}
