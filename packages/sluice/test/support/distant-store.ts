import { type Answer, type Ask, memoryStore, type Part, type Store } from "sluice"
import type { ManualClock } from "sluice/testing"
import { denyCache } from "../../src/layers/deny-cache.js"
import { leases } from "../../src/layers/lease.js"

/** Something asked of a store that is away. Deciding twice, or answering twice, does nothing. */
export interface Errand {
  readonly kind: "ask" | "giveBack" | "leave" | "settle" | "forget"
  /** What was asked, if it was. */
  readonly ask: Ask | undefined
  /** What was given back, if it was. */
  readonly parts: readonly Part[]
  /** Has the store do it. */
  decide(): void
  /** Brings the answer, for which the store has done it. */
  answer(): void
  /** Brings an error instead; whether the store has done it or not. */
  fail(error?: Error): void
}

/** A store that others share, seen by one process: every call is an errand, run as `route` says. */
export interface DistantStore extends Store {
  readonly errands: readonly Errand[]
  /** How many times it was asked. */
  readonly asked: number
}

/** Brings every answer as soon as a promise can. */
export const soon = (errand: Errand) => errand.answer()

/** Leaves it to the test. */
export const whenTold = () => {}

/** Creates a store in memory that has denials remembered, and a process's view of it. */
export function distantStore(
  clock: ManualClock,
  route: (errand: Errand) => void = soon,
  ledger: Store = memoryStore({ clock }),
): DistantStore {
  const errands: Errand[] = []
  let asked = 0

  const send = <T>(kind: Errand["kind"], what: { ask?: Ask; parts?: readonly Part[] }, run: () => T) =>
    new Promise<T>((resolve, reject) => {
      let done: { value: T } | undefined
      const decide = () => {
        done ??= { value: run() }
        return done.value
      }
      const errand = {
        kind,
        ask: what.ask,
        parts: what.parts ?? [],
        decide,
        answer: () => resolve(decide()),
        fail: (error = new Error("the store is out of reach")) => reject(error),
      }
      errands.push(errand)
      route(errand)
    })

  return {
    clock,
    layers: { denyCache, leases },
    errands,
    get asked() {
      return asked
    },
    ask(ask) {
      asked += 1
      return send("ask", { ask }, () => ledger.ask(ask) as Answer)
    },
    giveBack: (parts, at) => send("giveBack", { parts }, () => ledger.giveBack(parts, at) as undefined),
    leave: (turn) => send("leave", { parts: turn.parts }, () => ledger.leave(turn) as undefined),
    settle: (settlement) => send("settle", {}, () => ledger.settle(settlement) as boolean),
    forget: (places) => send("forget", {}, () => ledger.forget(places) as undefined),
  }
}

/** Lets everything happen that needs no more than promises. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
