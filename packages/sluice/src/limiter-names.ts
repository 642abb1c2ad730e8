import { SluiceError, shown } from "./errors.js"
import { getOrAdd } from "./get-or-add.js"
import type { Named } from "./policies.js"
import { shared } from "./shared.js"
import type { Store } from "./store.js"

/** The static policies by limiter name, for each store object in use. */
const taken = shared(
  "limiter-names",
  () => new WeakMap<Store, Map<string, { policies: string; limiters: number }>>(),
)

/** Reserves a limiter name on a store for these policies. Throws if another limiter uses it for others. Returns the release. */
export function takeName(store: Store, name: string, named: Named): () => void {
  const policies = JSON.stringify(
    named.map(({ name, policy }) => [name, policy] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
  const names = getOrAdd(taken, store, () => new Map())
  const entry = names.get(name) ?? { policies, limiters: 0 }
  if (entry.policies !== policies) {
    throw new SluiceError(
      "NAME_TAKEN",
      `another limiter named ${shown(name)} on this store has other policies. Rename or close one of them; after a hot reload, close the old limiter`,
    )
  }
  entry.limiters += 1
  names.set(name, entry)
  return () => {
    entry.limiters -= 1
    if (entry.limiters === 0) names.delete(name)
  }
}
