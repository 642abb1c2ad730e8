/// <reference lib="esnext.disposable" preserve="true" />

import { claim } from "./claims.js"
import { checkClock } from "./clock.js"
import { type Decision, decide } from "./decision.js"
import { type Duration, milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { type LeaseOptions, leaseTerms } from "./layers/lease-terms.js"
import { type Cost, charges, type Named, type NameOf, namePolicies, type Policies } from "./policies.js"
import {
  newReservation,
  type Pending,
  placeOfReservation,
  reservedUnder,
  settlementOf,
} from "./reservation.js"
import { type Scope, scopeOf } from "./state-key.js"
import { isPromise, type Store } from "./store.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import { checkSignal, refusal, type Signal, type WaitOptions, waitTerms } from "./waiting/terms.js"
import { waiting } from "./waiting/waiting.js"

export interface LimiterOptions<P extends Policies> extends WaitOptions {
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

export interface AcquireOptions<P extends Policies> extends AskOptions<P> {
  /** Ends the wait: the turn is given back, and the call rejects with the reason of the signal. */
  readonly signal?: Signal | undefined
}

export interface TryAcquireOptions<P extends Policies> extends AcquireOptions<P> {
  /** How long it may wait for its turn; 0 if left out. If its turn would come later, it is refused at once. */
  readonly timeout?: Duration | undefined
}

export interface ReserveOptions<P extends Policies> extends AskOptions<P> {
  /** How long it can be settled; `"10m"` if left out. After that it has cost what was reserved. */
  readonly ttl?: Duration | undefined
}

/** An estimate that was spent, or refused. */
export interface Reservation<P extends Policies = Policies, O extends Policies = P> extends Pending<O> {
  /** Whether it was spent; one that was not has nothing to settle. */
  readonly decision: Decision<NameOf<O>>
}

/** Holds keys to policies. */
export interface Limiter<P extends Policies = Policies> extends AsyncDisposable {
  readonly name: string
  /** Spends the cost if every policy has room for it; waits no longer than `timeout` for its turn, if that is given. */
  tryAcquire<O extends Policies = P>(
    key: string,
    options?: TryAcquireOptions<O>,
  ): Promise<Decision<NameOf<O>>>
  /**
   * Waits for its turn, in the order of asking, and spends the cost then. Rejects with `QUEUE_FULL` or `WAIT_TOO_LONG`
   * at once if there is no turn to be had.
   */
  acquire<O extends Policies = P>(key: string, options?: AcquireOptions<O>): Promise<Decision<NameOf<O>>>
  /** Waits for its turn as `acquire` does, then runs something and resolves with what that resolves with. */
  run<T, O extends Policies = P>(
    key: string,
    work: (decision: Decision<NameOf<O>>) => T | PromiseLike<T>,
    options?: AcquireOptions<O>,
  ): Promise<T>
  /** Says what `tryAcquire` would say, and changes nothing. */
  peek<O extends Policies = P>(key: string, options?: AskOptions<O>): Promise<Decision<NameOf<O>>>
  /** Spends an estimate, to be settled when the true cost is known. */
  reserve<O extends Policies = P>(key: string, options?: ReserveOptions<O>): Promise<Reservation<P, O>>
  /** A reservation by its id, whichever process made it. */
  reservation<O extends Policies = P>(key: string, id: string, options?: CallOptions<O>): Pending<O>
  /**
   * Spends what was used already, whether there is room or not: what there is no room for is owed, and later asks wait
   * for it. Allowed says whether there was room, `retryAfter` when a cost of 1 passes again.
   */
  charge<O extends Policies = P>(
    key: string,
    cost: Cost<O>,
    options?: CallOptions<O>,
  ): Promise<Decision<NameOf<O>>>
  /** Gives units back to a key, as far as they are spent: a gift, for which the limiter admits as much more. */
  refund<O extends Policies = P>(key: string, cost: Cost<O>, options?: CallOptions<O>): Promise<void>
  /** Forgets what a key has spent under the limiter's policies, or under those given. */
  reset<O extends Policies = P>(key: string, options?: CallOptions<O>): Promise<void>
  /** Ends the limiter and its waits, and gives leases and turns back; a store it did not create stays open. */
  close(): Promise<void>
}

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
  const waiters = waiting(store, ledger.clock)
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
      return isPromise(answer)
        ? answer.then((told) => decide(charged, told))
        : Promise.resolve(decide(charged, answer))
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
      throw new SluiceError("QUEUE_FULL", `${maxWaiters} wait for limiter ${shown(name)} already: maxWaiters`)
    }
    const answer = await waiters.join(charged, maxWait, options.signal)
    const decision = decide(charged, answer)
    if (!decision.allowed) throw refusal(decision, answer, maxWait)
    return decision
  }

  const tryAcquire = <O extends Policies>(key: string, options: TryAcquireOptions<O> = noOptions) => {
    if (options === noOptions) return ask<O>("spend", key, noOptions)
    try {
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
    await Promise.all([waiters.close(closedError(name)), leased?.close()])
  }

  return {
    name,
    tryAcquire,
    acquire,
    async run(key, work, options) {
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
  return new SluiceError("CLOSED", `limiter ${shown(name)} is closed`)
}
