import { getOrAdd } from "../get-or-add.js"
import { shared } from "../shared.js"
import type { Store } from "../store.js"
import { denyCache } from "./deny-cache.js"
import { type Leases, leases } from "./lease.js"
import type { LeaseSettings } from "./lease-options.js"
import { type Guarded, outage } from "./outage.js"
import type { OutageSettings } from "./outage-options.js"

/** The layers of a remote store, each a store that wraps a store. A layer that is left out is skipped. */
export interface Layers {
  readonly denyCache?: (store: Store) => Store
  readonly leases?: (store: Store, settings: LeaseSettings) => Leases
  readonly outage?: (store: Store, settings: OutageSettings, shardOf: Store["shardOf"]) => Guarded
}

/** A store with its layers, and those that a limiter must close or report on. */
export interface Composed {
  readonly store: Store
  readonly leases?: Leases | undefined
  readonly guarded?: Guarded | undefined
}

const allLayers: Layers = { denyCache, leases, outage }
const chosen = new WeakMap<Store, Layers>()
const denyCaches = shared("deny-caches", () => new WeakMap<Store, Store>())

/** Replaces the layers of one store. Tests use it to listen between layers, or to leave one out. */
export function withLayers<S extends Store>(store: S, layers: Layers): S {
  chosen.set(store, layers)
  return store
}

/** The layers over a store. A store inside this process has none. */
export function layersOf(store: Store): Layers {
  return chosen.get(store) ?? (store.remote === true ? allLayers : {})
}

/** Composes outage → lease → deny cache over a store. */
export function composeLayers(
  base: Store,
  lease: LeaseSettings | undefined,
  whenOut: OutageSettings,
): Composed {
  const layers = layersOf(base)
  const cached = base.denyCache === false ? base : sharedDenyCache(base, layers)
  const leased = lease && layers.leases?.(cached, lease)
  const guarded = layers.outage?.(leased ?? cached, whenOut, base.shardOf)
  return { store: guarded ?? leased ?? cached, leases: leased, guarded }
}

/** The outage layer alone, for a caller that needs neither leases nor the deny cache. */
export function guard(base: Store, whenOut: OutageSettings): Store {
  return layersOf(base).outage?.(base, whenOut, base.shardOf) ?? base
}

/** All limiters on one store share its deny cache, so that a refund through one limiter reaches all of them. */
function sharedDenyCache(base: Store, layers: Layers): Store {
  const { denyCache } = layers
  return denyCache === undefined ? base : getOrAdd(denyCaches, base, () => denyCache(base))
}
