import type { Store } from "sluice"
import type { Rig } from "sluice/testing"

/** Wraps each store of a rig, changing one thing about it. */
export function broken(change: (store: Store, rig: Rig) => Partial<Store>) {
  return (rig: Rig): Rig => {
    const stores = rig.stores.map((store) => ({ ...store, ...change(store, rig) }))
    return { ...rig, stores: stores as [Store, ...Store[]] }
  }
}
