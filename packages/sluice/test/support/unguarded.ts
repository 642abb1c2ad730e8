import type { Store } from "sluice"

/** The store as it is, with nothing that answers for it in an outage: its own patience is what a test sees. */
export function unguarded(store: Store): Store {
  const { outage: _, ...layers } = store.layers ?? { leases: () => expectNoLease() }
  return { ...store, layers }
}

function expectNoLease(): never {
  throw new Error("nothing is leased here")
}
