/// <reference lib="esnext.disposable" preserve="true" />
import { type Decision, decide } from "./decision.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { type Cost, charges, type Named, type NameOf, namePolicies, type Policies } from "./policies.js"
import { stateKey } from "./state-key.js"
import type { Mode, Part, Store } from "./store.js"
import { memoryStore } from "./stores/memory/memory-store.js"

export interface LimiterOptions<P extends Policies> {
  /** Sets its keys apart from those of other limiters on the store; `"default"` if left out. */
  readonly name?: string
  /** What it holds every key to, or a function of the key that tells. */
  readonly policy: P | ((key: string) => P)
  /** Where state lives; a memory store of its own if left out. */
  readonly store?: Store
}

export interface AskOptions<P extends Policies> {
  /** What this ask costs: units, or units by policy name; 1 if left out. */
  readonly cost?: Cost<P>
  /** The policies for this ask in place of the limiter's. */
  readonly policy?: P
}

/** Holds keys to policies. */
export interface Limiter<P extends Policies = Policies> extends AsyncDisposable {
  readonly name: string
  /** Spends the cost if every policy has room for it; never waits. */
  tryAcquire<O extends Policies = P>(key: string, options?: AskOptions<O>): Promise<Decision<NameOf<O>>>
  /** Says what `tryAcquire` would say, and changes nothing. */
  peek<O extends Policies = P>(key: string, options?: AskOptions<O>): Promise<Decision<NameOf<O>>>
  /** Gives units back to a key, as far as they are spent: a gift, for which the limiter admits as much more. */
  refund(key: string, cost: Cost<P>): Promise<void>
  /** Forgets all that a key has spent. */
  reset(key: string): Promise<void>
  /** Ends the limiter; a store it did not create stays open. */
  close(): Promise<void>
}

/** The static policies by limiter name, for each store in use. */
const taken = new WeakMap<Store, Map<string, { policies: string; limiters: number }>>()

/** Creates a limiter: `createLimiter({ name: "api", policy: tokenBucket({ … }) })`. */
export function createLimiter<const P extends Policies>(options: LimiterOptions<P>): Limiter<P> {
  checkFields("INVALID_OPTION", "createLimiter", options, ["name", "policy", "store"])
  const { name = "default", policy, store = memoryStore() } = options
  if (typeof name !== "string" || name === "") {
    throw new SluiceError("INVALID_OPTION", `name must be a string that is not empty, got ${shown(name)}`)
  }
  if (typeof store?.ask !== "function") {
    throw new SluiceError(
      "INVALID_OPTION",
      `store must be a Store, such as memoryStore(), got ${shown(store)}`,
    )
  }
  const fixed = typeof policy === "function" ? undefined : namePolicies(policy)
  const release = fixed === undefined ? () => {} : claim(store, name, fixed)
  let closed = false

  const policiesFor = (key: string, override?: unknown): Named => {
    if (closed) throw new SluiceError("CLOSED", `limiter ${shown(name)} is closed`)
    if (typeof key !== "string" || key === "") {
      throw new SluiceError("INVALID_KEY", `key must be a string that is not empty, got ${shown(key)}`)
    }
    if (override !== undefined) return namePolicies(override)
    return fixed ?? namePolicies((policy as (key: string) => P)(key))
  }

  const ask = async <O extends Policies>(mode: Mode, key: string, options: AskOptions<O> = {}) => {
    checkFields("INVALID_OPTION", "an ask", options, ["cost", "policy"])
    const charged = charges(policiesFor(key, options.policy), options.cost)
    const parts = partsOf(charged, name, key)
    const names = charged.map((charge) => charge.name) as NameOf<O>[]
    return decide(names, parts, await store.ask({ parts, count: 1, mode }))
  }

  const close = async () => {
    if (!closed) release()
    closed = true
  }

  return {
    name,
    tryAcquire: (key, options) => ask("spend", key, options),
    peek: (key, options) => ask("peek", key, options),
    async refund(key, cost) {
      await store.giveBack(partsOf(charges(policiesFor(key), cost), name, key))
    },
    async reset(key) {
      await store.forget(policiesFor(key).map(([policy]) => stateKey(name, key, policy)))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function partsOf(charged: ReturnType<typeof charges>, name: string, key: string): Part[] {
  return charged.map(({ name: policyName, policy, cost }) => ({
    key: stateKey(name, key, policyName),
    policy,
    cost,
  }))
}

/** Notes that a name on a store means these policies; two meanings at once are a mistake. */
function claim(store: Store, name: string, named: Named): () => void {
  const policies = JSON.stringify([...named].sort(([a], [b]) => (a < b ? -1 : 1)))
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
