/// <reference lib="esnext.disposable" preserve="true" />

import { claim } from "./claims.js"
import { checkClock } from "./clock.js"
import { type Decision, decide } from "./decision.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { type LeaseOptions, leaseTerms } from "./layers/lease-terms.js"
import { type Cost, charges, type Named, type NameOf, namePolicies, type Policies } from "./policies.js"
import { type Scope, scopeOf } from "./state-key.js"
import { isPromise, type Mode, type Store } from "./store.js"
import { memoryStore } from "./stores/memory/memory-store.js"

export interface LimiterOptions<P extends Policies> {
  /** Sets its keys apart from those of other limiters on the store; `"default"` if left out. */
  readonly name?: string
  /** What it holds every key to, or a function of the key that tells. */
  readonly policy: P | ((key: string) => P)
  /** Where state lives; a memory store of its own if left out. */
  readonly store?: Store
  /**
   * Takes units of a busy key from the store in blocks and spends them here, without a round trip: `true` for blocks
   * of at most a tenth of the limit that last for 100 ms, or how long and what share. Never admits more than the
   * store has granted; in any span of time, at most what the policy admits in that span and the lease together. A store
   * in this process answers at once, and nothing is leased from it.
   */
  readonly lease?: boolean | LeaseOptions
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
  /** Ends the limiter and gives its leases back; a store it did not create stays open. */
  close(): Promise<void>
}

const noOptions = {}

/** How many names of policies given in calls a limiter keeps scopes for. */
const MOST_SCOPES = 1_000

/** Creates a limiter: `createLimiter({ name: "api", policy: tokenBucket({ … }) })`. */
export function createLimiter<const P extends Policies>(options: LimiterOptions<P>): Limiter<P> {
  checkFields("INVALID_OPTION", "createLimiter", options, ["name", "policy", "store", "lease"])
  const { name = "default", policy, store: ledger = memoryStore(), lease = false } = options
  if (typeof name !== "string" || name === "") {
    throw new SluiceError("INVALID_OPTION", `name must be a string that is not empty, got ${shown(name)}`)
  }
  for (const method of ["ask", "giveBack", "forget"] as const) {
    if (typeof ledger?.[method] !== "function") {
      throw new SluiceError(
        "INVALID_OPTION",
        `store must be a Store, such as memoryStore(), got ${shown(ledger)}`,
      )
    }
  }
  if (ledger.clock !== undefined) checkClock(ledger.clock)
  const terms = leaseTerms(lease)
  const scope = scopes(name)
  const named = (value: unknown) => {
    const policies = namePolicies(value, scope)
    if (terms !== undefined) refuseLeaky(policies)
    return policies
  }
  const fixed = typeof policy === "function" ? undefined : named(policy)
  const release = fixed === undefined ? () => {} : claim(ledger, name, fixed)
  const exact = ledger.layers?.denyCache?.(ledger) ?? ledger
  const leased = terms && ledger.layers?.leases(exact, terms)
  const store = leased ?? exact
  let closed = false

  const policiesFor = (key: string, override?: unknown): Named => {
    if (closed) throw new SluiceError("CLOSED", `limiter ${shown(name)} is closed`)
    if (typeof key !== "string" || key === "") {
      throw new SluiceError("INVALID_KEY", `key must be a string that is not empty, got ${shown(key)}`)
    }
    if (override !== undefined) return named(override)
    return fixed ?? named((policy as (key: string) => P)(key))
  }

  // no async function: it would take most of the time and memory of a decision
  const ask = <O extends Policies>(mode: Mode, key: string, options: AskOptions<O> = noOptions) => {
    try {
      if (options !== noOptions) checkFields("INVALID_OPTION", "an ask", options, ["cost", "policy"])
      const cost = options.cost === undefined ? 1 : options.cost
      const charged = charges<NameOf<O>>(policiesFor(key, options.policy), key, cost)
      const answer = store.ask({ parts: charged, count: 1, mode })
      return isPromise(answer)
        ? answer.then((told) => decide(charged, told))
        : Promise.resolve(decide(charged, answer))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  const close = async () => {
    if (!closed) release()
    closed = true
    await leased?.close()
  }

  return {
    name,
    tryAcquire: (key, options) => ask("spend", key, options),
    peek: (key, options) => ask("peek", key, options),
    async refund(key, cost, options = noOptions) {
      checkFields("INVALID_OPTION", "a refund", options, ["policy"])
      await store.giveBack(charges(policiesFor(key, options.policy), key, cost))
    },
    async reset(key, options = noOptions) {
      checkFields("INVALID_OPTION", "a reset", options, ["policy"])
      await store.forget(policiesFor(key, options.policy).map(({ scope }) => ({ scope, key })))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The scopes of a limiter's policies by name, made once. */
function scopes(limiter: string): (policy: string) => Scope {
  const known = new Map<string, Scope>()
  return (policy) => {
    const scope = known.get(policy) ?? scopeOf(limiter, policy)
    if (known.size < MOST_SCOPES) known.set(policy, scope)
    return scope
  }
}

function refuseLeaky(named: Named): void {
  const leaky = named.find(({ policy }) => policy.algorithm === "leakyBucket")
  if (leaky === undefined) return
  throw new SluiceError(
    "INVALID_POLICY",
    `a leakyBucket cannot be leased, its outflow would not be even: ${shown(leaky.name)} needs a limiter without lease`,
  )
}
