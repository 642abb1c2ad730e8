import { SluiceError, shown } from "./errors.js"
import type { Named } from "./policies.js"
import type { Store } from "./store.js"

/** The static policies by limiter name, for each store object in use. */
const taken = new WeakMap<Store, Map<string, { policies: string; limiters: number }>>()

/** Notes that a name on a store means these policies, until released; two meanings at once are a mistake. */
export function claim(store: Store, name: string, named: Named): () => void {
  const policies = JSON.stringify(
    named.map(({ name, policy }) => [name, policy] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
  let names = taken.get(store)
  if (names === undefined) {
    names = new Map()
    taken.set(store, names)
  }
  const entry = names.get(name) ?? { policies, limiters: 0 }
  if (entry.policies !== policies) {
    throw new SluiceError(
      "NAME_TAKEN",
      `another limiter named ${shown(name)} on this store has other policies; name one of them otherwise, or close it first`,
    )
  }
  entry.limiters += 1
  names.set(name, entry)
  return () => {
    entry.limiters -= 1
    if (entry.limiters === 0) names.delete(name)
  }
}
