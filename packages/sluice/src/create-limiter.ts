import { claim } from "./claims.js"
import { checkClock } from "./clock.js"
import { claimOn } from "./combine.js"
import { type Decision, decide } from "./decision.js"
import { milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { isPromise, type Listener, tell } from "./later.js"
import { leaseTerms } from "./layers/lease-terms.js"
import { outageTerms } from "./layers/outage-terms.js"
import type {
  AcquireOptions,
  AskOptions,
  CallOptions,
  Limiter,
  LimiterOptions,
  ReserveOptions,
  TryAcquireOptions,
} from "./limiter.js"
import {
  type Charge,
  type Cost,
  charges,
  type Named,
  type NameOf,
  namePolicies,
  type Policies,
} from "./policies.js"
import {
  newReservation,
  type Pending,
  placeOfReservation,
  reservedUnder,
  settlementOf,
} from "./reservation.js"
import { shortcutOf } from "./shortcut.js"
import { type Scope, scopeOf } from "./state-key.js"
import type { Answer } from "./store.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import { checkSignal, refusal, waitTerms } from "./waiting/terms.js"
import { waiting } from "./waiting/waiting.js"

const noOptions = {}

/** How many names of policies given in calls a limiter keeps scopes for. */
const MOST_SCOPES = 1_000

/** Creates a limiter: `createLimiter({ name: "api", policy: tokenBucket({ … }) })`. */
export function createLimiter<const P extends Policies>(options: LimiterOptions<P>): Limiter<P> {
  checkFields("INVALID_OPTION", "createLimiter", options, [
    "name",
    "policy",
    "store",
    "lease",
    "outage",
    "maxWait",
    "maxWaiters",
  ])
  const { name = "default", policy, store: ledger = memoryStore(), lease = false } = options
  if (typeof name !== "string" || name === "") {
    throw new SluiceError("INVALID_OPTION", `name must be a string that is not empty, got ${shown(name)}`)
  }
  for (const method of ["ask", "giveBack", "leave", "settle", "forget"] as const) {
    if (typeof ledger?.[method] !== "function") {
      throw new SluiceError(
        "INVALID_OPTION",
        `store must be a Store, such as memoryStore(), got ${shown(ledger)}`,
      )
    }
  }
  if (ledger.clock !== undefined) checkClock(ledger.clock)
  const terms = leaseTerms(lease)
  const { maxWait, maxWaiters } = waitTerms(options)
  const whenOut = outageTerms(options.outage)
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
  const guarded = ledger.layers?.outage?.(leased ?? exact, whenOut)
  const store = guarded ?? leased ?? exact
  const waiters = waiting(store, ledger.clock)
  let shortcut = fixed && shortcutOf(store, charges(fixed, "", 1))
  let closed = false

  const policiesFor = (key: string, override?: unknown): Named => {
    if (closed) throw closedError(name)
    if (typeof key !== "string" || key === "") {
      throw new SluiceError("INVALID_KEY", `key must be a string that is not empty, got ${shown(key)}`)
    }
    if (override !== undefined) return named(override)
    return fixed ?? named((policy as (key: string) => P)(key))
  }

  // no async function: it would take most of the time and memory of a decision
  const ask = <O extends Policies>(mode: "spend" | "peek", key: string, options: AskOptions<O>) => {
    try {
      const charged = chargesOf(key, options)
      const answer = store.ask({ parts: charged, count: 1, mode })
      if (!isPromise(answer)) return Promise.resolve(decide(charged, answer))
      const deciding = new Deciding<NameOf<O>>(charged)
      tell(answer, deciding)
      return deciding.promise
    } catch (error) {
      return Promise.reject(error)
    }
  }

  const chargesOf = <O extends Policies>(key: string, { cost = 1, policy }: AskOptions<O>) =>
    charges<NameOf<O>>(policiesFor(key, policy), key, cost)

  const acquire = async <O extends Policies>(key: string, options: AcquireOptions<O> = noOptions) => {
    checkFields("INVALID_OPTION", "an acquire", options, ["cost", "policy", "signal"])
    const charged = chargesOf(key, options)
    checkSignal(options.signal)
    if (waiters.size >= maxWaiters) {
      throw new SluiceError(
        "QUEUE_FULL",
        `${maxWaiters} wait for limiter ${shown(name)} already; shed the work, or raise maxWaiters`,
      )
    }
    const answer = await waiters.join(charged, maxWait, options.signal)
    const decision = decide(charged, answer)
    if (!decision.allowed) throw refusal(decision, answer, maxWait)
    return decision
  }

  const tryAcquire = <O extends Policies>(key: string, options: TryAcquireOptions<O> = noOptions) => {
    try {
      if (options === noOptions) {
        const decision = typeof key === "string" && key !== "" ? shortcut?.(key) : undefined
        if (decision !== undefined) return Promise.resolve(decision as Decision<NameOf<O>>)
        return ask<O>("spend", key, noOptions)
      }
      checkFields("INVALID_OPTION", "an ask", options, ["cost", "policy", "timeout", "signal"])
      const { timeout = 0 } = options
      checkSignal(options.signal)
      if (timeout === 0) return ask("spend", key, options)
      const most = Math.min(milliseconds(timeout, "timeout", "INVALID_OPTION") * 1_000, maxWait)
      const charged = chargesOf(key, options)
      // with as many waiting as may, it has its turn now or not at all
      const patience = waiters.size < maxWaiters ? most : 0
      return waiters.join(charged, patience, options.signal).then((answer) => decide(charged, answer))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  const pending = <O extends Policies>(key: string, id: string, named: Named): Pending<O> => {
    const settle = async (actual: unknown) => {
      if (closed) throw closedError(name)
      return store.settle(settlementOf({ id, limiter: name, key, maxWait }, named, actual))
    }
    return { id, settle, cancel: () => settle(0) }
  }

  const close = async () => {
    if (!closed) release()
    closed = true
    shortcut = undefined
    await Promise.all([waiters.close(closedError(name)), leased?.close()])
  }

  return {
    name,
    get health() {
      return guarded?.health ?? { reachable: true, degraded: 0 }
    },
    tryAcquire,
    acquire,
    async run(key, work, options) {
      if (typeof work !== "function") {
        throw new SluiceError("INVALID_OPTION", `run takes a key and a function, got ${shown(work)}`)
      }
      return work(await acquire(key, options))
    },
    peek(key, options = noOptions) {
      if (options === noOptions) return ask("peek", key, noOptions)
      try {
        checkFields("INVALID_OPTION", "a peek", options, ["cost", "policy"])
        return ask("peek", key, options)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    on(key, options = noOptions) {
      checkFields("INVALID_OPTION", "an ask", options, ["cost", "policy"])
      // once now, for whoever is wrong to hear of it here
      chargesOf(key, options)
      return claimOn({ limiter: name, key, ledger, store, charges: () => chargesOf(key, options) })
    },
    async reserve<O extends Policies>(key: string, options: ReserveOptions<O> = noOptions) {
      checkFields("INVALID_OPTION", "a reservation", options, ["cost", "policy", "ttl"])
      const { cost = 1, ttl = "10m" } = options
      const lasts = milliseconds(ttl, "ttl", "INVALID_OPTION") * 1_000
      const policies = policiesFor(key, options.policy)
      const charged = charges<NameOf<O>>(policies, key, cost)
      const id = newReservation(charged)
      const note = { place: placeOfReservation(name, key, id), lasts }
      const answer = await store.ask({ parts: charged, count: 1, mode: "reserve", note })
      return { decision: decide(charged, answer), ...pending<O>(key, id, policies) }
    },
    reservation(key, id, options = noOptions) {
      checkFields("INVALID_OPTION", "a reservation", options, ["policy"])
      reservedUnder(id)
      return pending(key, id, policiesFor(key, options.policy))
    },
    async charge<O extends Policies>(key: string, cost: Cost<O>, options: CallOptions<O> = noOptions) {
      checkFields("INVALID_OPTION", "a charge", options, ["policy"])
      const charged = charges<NameOf<O>>(policiesFor(key, options.policy), key, cost)
      const answer = await store.ask({ parts: charged, count: 1, mode: "charge", maxWait })
      const forOne = charged.map((charge) => ({ ...charge, cost: 1 }))
      return decide(forOne, answer)
    },
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

/** How the promise that was made last is settled. */
const newest: { resolve(value: unknown): void; reject(error: unknown): void } = {
  resolve() {},
  reject() {},
}

function keepResolvers(resolve: (value: never) => void, reject: (error: unknown) => void): void {
  newest.resolve = resolve as (value: unknown) => void
  newest.reject = reject
}

/** Puts an answer into words for somebody who waits for a decision. */
class Deciding<Name extends string> implements Listener<Answer> {
  declare readonly promise: Promise<Decision<Name>>
  declare private readonly charged: readonly Charge<Name>[]
  declare private readonly resolve: (decision: Decision<Name>) => void
  declare private readonly reject: (error: unknown) => void

  constructor(charged: readonly Charge<Name>[]) {
    // by one function for all promises: a function for each would be made for every ask
    this.promise = new Promise(keepResolvers)
    this.charged = charged
    this.resolve = newest.resolve
    this.reject = newest.reject
  }

  told(answer: Answer): void {
    try {
      this.resolve(decide(this.charged, answer))
    } catch (error) {
      this.reject(error)
    }
  }

  failed(error: unknown): void {
    this.reject(error)
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

function closedError(name: string): SluiceError {
  return new SluiceError(
    "CLOSED",
    `limiter ${shown(name)} is closed; create another, or close it after the last ask`,
  )
}
