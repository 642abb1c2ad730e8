import type { Decision } from "./decision.js"
import type { Charge } from "./policies.js"
import type { Store } from "./store.js"

/** Answers one spend of a key, under the policies and at the cost it was made for, or says nothing and has done nothing. */
export type Shortcut = (key: string) => Decision | undefined

/** Makes a shortcut for charges of whatever key, or none. */
type Offer = (charged: readonly Charge[]) => Shortcut | undefined

const offers = new WeakMap<Store, Offer>()

/**
 * Has a store answer the usual ask with fewer steps, where the answer is at hand: no ask is made, and no answer to be
 * put into words. That is nothing that a store has under a name: whoever copies its methods to put something before
 * one of them is asked.
 */
export function offerShortcut<S extends Store>(store: S, offer: Offer): S {
  offers.set(store, offer)
  return store
}

/** The shortcut of a store, if it has one. */
export function shortcutOf(store: Store, charged: readonly Charge[]): Shortcut | undefined {
  return offers.get(store)?.(charged)
}
