import { memoryStore, type Store } from "sluice"
import type { PolicyRequest, StoreReply, StoreRequest } from "sluice/store"
import type { ManualClock } from "sluice/testing"
import { withLayers } from "../../src/layers/compose.js"
import { denyCache } from "../../src/layers/deny-cache.js"
import { leases } from "../../src/layers/lease.js"

/** A call to a distant store. Deciding or replying a second time has no effect. */
export interface Errand {
  readonly kind: "ask" | "giveBack" | "leave" | "settle" | "forget"
  /** The request, if the call is one. */
  readonly ask: StoreRequest | undefined
  /** The units given back, if the call does that. */
  readonly parts: readonly PolicyRequest[]
  /** Lets the store execute the call. */
  decide(): void
  /** Executes the call if needed, and delivers the reply. */
  answer(): void
  /** Delivers an error instead, whether the call was executed or not. */
  fail(error?: Error): void
}

/** A shared store, as one process sees it. Every call is an errand that `route` handles. */
export interface DistantStore extends Store {
  readonly errands: readonly Errand[]
  /** How many calls it got. */
  readonly asked: number
}

/** Delivers every reply in the next microtask. */
export const soon = (errand: Errand) => errand.answer()

/** Leaves the delivery to the test. */
export const whenTold = () => {}

/** Creates a memory store behind a deny cache, and a process's view of it. */
export function distantStore(
  clock: ManualClock,
  route: (errand: Errand) => void = soon,
  baseStore: Store = memoryStore({ clock }),
): DistantStore {
  const errands: Errand[] = []
  let asked = 0

  const send = <T>(
    kind: Errand["kind"],
    what: { ask?: StoreRequest; parts?: readonly PolicyRequest[] },
    run: () => T,
  ) =>
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

  const store: DistantStore = {
    clock,
    errands,
    get asked() {
      return asked
    },
    decide(request) {
      asked += 1
      return send("ask", { ask: request }, () => baseStore.decide(request) as StoreReply)
    },
    giveBack: (policies, at) =>
      send("giveBack", { parts: policies }, () => baseStore.giveBack(policies, at) as undefined),
    leave: (turn) => send("leave", { parts: turn.policies }, () => baseStore.leave(turn) as undefined),
    settle: (settlement) => send("settle", {}, () => baseStore.settle(settlement) as boolean),
    forget: (stateRefs) => send("forget", {}, () => baseStore.forget(stateRefs) as undefined),
  }
  return withLayers(store, { denyCache, leases })
}

/** Waits until all pending microtasks have run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
