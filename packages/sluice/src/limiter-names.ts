import { SluiceError, shown } from "./errors.js"
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
  let names = taken.get(store)
  if (names === undefined) {
    names = new Map()
    taken.set(store, names)
  }
  const entry = names.get(name) ?? { policies, limiters: 0 }
  if (entry.policies !== policies) {
    throw new SluiceError(
      "NAME_TAKEN",
      `another limiter named ${shown(name)} on this store has other policies. Give one of them another name, or close it. After a reload in development, close the old limiter first (Vite: import.meta.hot.dispose(() => limiter.close()))`,
    )
  }
  entry.limiters += 1
  names.set(name, entry)
  return () => {
    entry.limiters -= 1
    if (entry.limiters === 0) names.delete(name)
  }
}
