/// <reference lib="esnext.disposable" preserve="true" />
import { type Decision, decide } from "./decision.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { type Cost, charges, type Named, type NameOf, namePolicies, type Policies } from "./policies.js"
import { scopeOf } from "./state-key.js"
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

/** The policies for one call in place of the limiter's. */
export interface CallOptions<P extends Policies> {
  readonly policy?: P | undefined
}

export interface AskOptions<P extends Policies> extends CallOptions<P> {
  /** What this ask costs: units, or units by policy name; 1 if left out. */
  readonly cost?: Cost<P> | undefined
}

/** Holds keys to policies. */
export interface Limiter<P extends Policies = Policies> extends AsyncDisposable {
  readonly name: string
  /** Spends the cost if every policy has room for it; never waits. */
  tryAcquire<O extends Policies = P>(key: string, options?: AskOptions<O>): Promise<Decision<NameOf<O>>>
  /** Says what `tryAcquire` would say, and changes nothing. */
  peek<O extends Policies = P>(key: string, options?: AskOptions<O>): Promise<Decision<NameOf<O>>>
  /** Gives units back to a key, as far as they are spent: a gift, for which the limiter admits as much more. */
  refund<O extends Policies = P>(key: string, cost: Cost<O>, options?: CallOptions<O>): Promise<void>
  /** Forgets what a key has spent under the limiter's policies, or under those given. */
  reset<O extends Policies = P>(key: string, options?: CallOptions<O>): Promise<void>
  /** Ends the limiter; a store it did not create stays open. */
  close(): Promise<void>
}

/** The static policies by limiter name, for each store object in use. */
const taken = new WeakMap<Store, Map<string, { policies: string; limiters: number }>>()

/** Creates a limiter: `createLimiter({ name: "api", policy: tokenBucket({ … }) })`. */
export function createLimiter<const P extends Policies>(options: LimiterOptions<P>): Limiter<P> {
  checkFields("INVALID_OPTION", "createLimiter", options, ["name", "policy", "store"])
  const { name = "default", policy, store = memoryStore() } = options
  if (typeof name !== "string" || name === "") {
    throw new SluiceError("INVALID_OPTION", `name must be a string that is not empty, got ${shown(name)}`)
  }
  for (const method of ["ask", "giveBack", "forget"] as const) {
    if (typeof store?.[method] !== "function") {
      throw new SluiceError(
        "INVALID_OPTION",
        `store must be a Store, such as memoryStore(), got ${shown(store)}`,
      )
    }
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
    const charged = charges(policiesFor(key, options.policy), options.cost === undefined ? 1 : options.cost)
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
    async refund(key, cost, options = {}) {
      checkFields("INVALID_OPTION", "a refund", options, ["policy"])
      await store.giveBack(partsOf(charges(policiesFor(key, options.policy), cost), name, key))
    },
    async reset(key, options = {}) {
      checkFields("INVALID_OPTION", "a reset", options, ["policy"])
      await store.forget(
        policiesFor(key, options.policy).map(([policy]) => ({ scope: scopeOf(name, policy), key })),
      )
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function partsOf(charged: ReturnType<typeof charges>, name: string, key: string): Part[] {
  return charged.map(({ name: policyName, policy, cost }) => ({
    scope: scopeOf(name, policyName),
    key,
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
