import { type Clock, type MemoryStore, memoryStore, type Store } from "sluice"
import type { StateRef, StoreRequest } from "sluice/store"

/** A remote store with all layers, whose calls fail while `failWith` has an error. */
export interface FlakyStore {
  readonly store: Store
  /** The state itself, which never fails. */
  readonly baseStore: MemoryStore
  /** Makes calls fail from now on. Without an error, they succeed again. */
  failWith(error?: (request: StoreRequest | undefined) => Error | undefined): void
  /** How many calls it got. */
  readonly calls: number
}

/** With `shardOf` it can fail in part, like a Cluster. By default it uses the process clock. */
export function flakyStore(shardOf?: (places: readonly StateRef[]) => string, clock?: Clock): FlakyStore {
  const baseStore = memoryStore({ clock })
  let errorOf: (request: StoreRequest | undefined) => Error | undefined = () => undefined
  let calls = 0
  const reach = async <T>(run: () => T, request?: StoreRequest): Promise<T> => {
    calls += 1
    const error = errorOf(request)
    if (error !== undefined) throw error
    return run()
  }
  const store: Store = {
    ...(clock && { clock }),
    remote: true,
    ...(shardOf && { shardOf }),
    decide: (request) => reach(() => baseStore.decide(request), request),
    giveBack: (policies, at) => reach(() => baseStore.giveBack(policies, at)),
    leave: (turn) => reach(() => baseStore.leave(turn)),
    settle: (settlement) => reach(() => baseStore.settle(settlement)),
    forget: (stateRefs) => reach(() => baseStore.forget(stateRefs)),
  }
  return {
    store,
    baseStore,
    failWith(error = () => undefined) {
      errorOf = error
    },
    get calls() {
      return calls
    },
  }
}
