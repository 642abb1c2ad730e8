import type { Store } from "sluice"
import { layersOf, withLayers } from "../../src/layers/compose.js"

/** The store without the outage layer, so that a test sees its own retries and errors. */
export function unguarded(store: Store): Store {
  const { outage: _, ...layers } = layersOf(store)
  return withLayers({ ...store }, layers)
}
