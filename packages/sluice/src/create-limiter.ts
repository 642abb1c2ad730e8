import { checkStore } from "./check-store.js"
import { checkClock, monotonic } from "./clock.js"
import { claimOn } from "./combine.js"
import { decide } from "./decide.js"
import type { Decision } from "./decision.js"
import { isPromise, promised } from "./deferred.js"
import { milliseconds } from "./duration.js"
import { checkFields, SluiceError, shown } from "./errors.js"
import { type Call, listener } from "./events.js"
import { flatCopy } from "./flat-copy.js"
import { composeLayers } from "./layers/compose.js"
import { leaseSettings } from "./layers/lease-options.js"
import { outageSettings } from "./layers/outage-options.js"
import type {
  AcquireOptions,
  CallOptions,
  InspectOptions,
  Limiter,
  LimiterOptions,
  RequestOptions,
  ReserveOptions,
  TryAcquireOptions,
} from "./limiter.js"
import { takeName } from "./limiter-names.js"
import { enforcedShare, letPass, rankOf, unheard } from "./mode.js"
import {
  type Amount,
  type Charge,
  charges,
  debits,
  type Named,
  type NameOf,
  namePolicies,
  nothing,
  type Policies,
} from "./policies.js"
import {
  newReservation,
  type Pending,
  placeOfReservation,
  reservedUnder,
  settlementOf,
} from "./reservation.js"
import { type PolicyRef, policyRef } from "./state-key.js"
import type { StoreReply } from "./store.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import { checkSignal, refusal, type Signal, waitSettings } from "./waiting/wait-options.js"
import { waiting } from "./waiting/waiting.js"

const noOptions = {}

/** How many policy names a limiter may have over all its calls. Each name is a state of its own for every key. */
const MOST_NAMES = 64

/** Creates a limiter: `createLimiter({ name: "api", policy: tokenBucket({ … }) })`. */
export function createLimiter<const P extends Policies, const N extends string = string>(
  options: LimiterOptions<P, N>,
): Limiter<P, N> {
  checkFields("INVALID_OPTION", "createLimiter", options, [
    "name",
    "policy",
    "store",
    "lease",
    "outage",
    "maxWait",
    "maxWaiters",
    "mode",
    "rules",
  ])
  const { name = "default" as N, policy, store: baseStore = memoryStore(), lease = false, rules } = options
  if (typeof name !== "string" || name === "") {
    throw new SluiceError("INVALID_OPTION", `name must be a non-empty string, got ${shown(name)}`)
  }
  checkStore(baseStore)
  if (baseStore.clock !== undefined) checkClock(baseStore.clock)
  const leaseOf = leaseSettings(lease)
  const { maxWait, maxWaiters } = waitSettings(options)
  const whenOut = outageSettings(options.outage, name)
  let { mode = "enforce" } = options
  let share = enforcedShare(mode)
  const ref = scopes(name)
  const named = (value: unknown) => {
    const policies = namePolicies(value, ref)
    if (leaseOf !== undefined) refuseLeaky(policies)
    return policies
  }
  const fixed = typeof policy === "function" ? undefined : named(policy)
  const release = fixed === undefined ? () => {} : takeName(baseStore, name, fixed)
  const { store: layered, leases, guarded } = composeLayers(baseStore, leaseOf, whenOut)
  const ruled = rules?.attach({
    name,
    baseStore,
    store: layered,
    policies: fixed,
    onChange: (matches) => waiters.rebook(matches),
  })
  const store = ruled?.store ?? layered
  const waiters = waiting(store, baseStore.clock, maxWaiters)
  let closed = false

  const policiesFor = (key: string, override?: unknown): Named => {
    if (closed) throw closedError(name)
    if (typeof key !== "string" || key === "") {
      throw new SluiceError("INVALID_KEY", `key must be a non-empty string, got ${shown(key)}`)
    }
    if (override !== undefined) return named(override)
    return fixed ?? named((policy as (key: string) => P)(key))
  }

  const observes = (key: string) => share < 1 && rankOf(name, key) >= share

  /** Applies the mode to a decision, and tells the listener. `patience` is how many milliseconds it would have waited. */
  const conclude = <Name extends string>(
    call: Call | "peek",
    charged: readonly Charge<Name>[],
    reply: StoreReply,
    since?: number,
    patience = 0,
    explained = charged,
  ): Decision<Name> => {
    const decided = decide(explained, reply)
    const passes = share < 1 && !decided.allowed && observes((charged[0] as Charge).key)
    const decision = passes ? letPass(decided) : decided
    if (listener !== undefined && call !== "peek") {
      const wouldWait = decided.retryAfter <= patience
      listener.decision({ limiter: name, call, charged, since, wouldWait }, decision)
    }
    return decision
  }

  /** Decides when the store has failed: the request passes while the limiter observes, else the error is thrown. */
  const rescue = <Name extends string>(
    call: Call | "peek",
    charged: readonly Charge<Name>[],
    error: unknown,
    since?: number,
  ): Decision<Name> => {
    const { key } = charged[0] as Charge
    if (ofStore(error) && observes(key)) return conclude(call, charged, unheard, since)
    if (call !== "peek") listener?.decision({ limiter: name, call, charged, since }, undefined, error)
    throw error
  }

  // Not an async function: that would take most of the time and memory of a decision.
  const request = <O extends Policies>(
    call: Call | "peek",
    key: string,
    options: RequestOptions<O>,
    patience?: number,
  ): Promise<Decision<NameOf<O>>> => {
    let charged: Charge<NameOf<O>>[] | undefined
    try {
      const asked = chargesOf(key, options)
      charged = asked
      const mode = call === "peek" ? call : "spend"
      const answer = store.decide({ policies: asked, count: 1, mode })
      if (!isPromise(answer)) return Promise.resolve(conclude(call, asked, answer, undefined, patience))
      const since = listener && monotonic()
      return promised(
        answer,
        (reply) => conclude(call, asked, reply, since, patience),
        (error) => rescue(call, asked, error, since),
      )
    } catch (error) {
      if (charged === undefined) return Promise.reject(error)
      const asked = charged
      return new Promise((resolve) => resolve(rescue(call, asked, error)))
    }
  }

  const chargesOf = <O extends Policies>(key: string, { cost = 1, policy }: RequestOptions<O>) =>
    charges<NameOf<O>>(policiesFor(key, policy), key, cost)

  const acquire = async <O extends Policies>(key: string, options: AcquireOptions<O> = noOptions) => {
    checkFields("INVALID_OPTION", "an acquire", options, ["cost", "policy", "signal"])
    const charged = chargesOf(key, options)
    checkSignal(options.signal)
    if (observes(key)) return request("acquire", key, options, maxWait / 1_000)
    const { decision, answer, hasRoom } = await wait("acquire", key, charged, maxWait, options.signal)
    if (!decision.allowed) {
      const full = hasRoom ? undefined : (ms: number) => waiters.room.refusal(key, name, ms)
      throw refusal(decision, answer, { limiter: name, maxWait, full })
    }
    return decision
  }

  const wait = async <Name extends string>(
    call: Call,
    key: string,
    charged: Charge<Name>[],
    most: number,
    signal: Signal | undefined,
  ) => {
    const since = listener && monotonic()
    const hasRoom = waiters.room.hasRoom(key)
    // with a full queue a request has its turn now, or is refused
    const joined = waiters.join(charged, hasRoom ? most : 0, signal)
    listener?.wait(name, joined, signal)
    const answer = await joined
    return { decision: conclude(call, charged, answer, since), answer, hasRoom }
  }

  const tryAcquire = <O extends Policies>(key: string, options: TryAcquireOptions<O> = noOptions) => {
    try {
      if (options === noOptions) return request<O>("tryAcquire", key, noOptions)
      checkFields("INVALID_OPTION", "a request", options, ["cost", "policy", "timeout", "signal"])
      const { timeout = 0 } = options
      checkSignal(options.signal)
      if (timeout === 0) return request("tryAcquire", key, options)
      const most = Math.min(milliseconds(timeout, "timeout", "INVALID_OPTION") * 1_000, maxWait)
      if (observes(key)) return request("tryAcquire", key, options, most / 1_000)
      const waited = wait("tryAcquire", key, chargesOf(key, options), most, options.signal)
      return waited.then(({ decision }) => decision)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A reservation; one that passed although it was denied has nothing to settle. */
  const pending = <O extends Policies>(
    key: string,
    id: string,
    named: Named,
    isCharged = true,
  ): Pending<O> => {
    const settle = async (actual: unknown) => {
      if (closed) throw closedError(name)
      const settlement = settlementOf({ id, limiter: name, key, maxWait }, named, actual)
      const isSettled = isCharged && (await store.settle(settlement))
      if (isSettled) listener?.settled(name, key, id, settlement)
      return isSettled
    }
    return { id, settle, cancel: () => settle(nothing(named)) }
  }

  const close = async () => {
    if (!closed) {
      release()
      ruled?.detach()
    }
    closed = true
    await Promise.all([waiters.close(closedError(name)), leases?.close()])
  }

  return {
    name,
    get health() {
      return guarded?.health ?? { reachable: true, degraded: 0 }
    },
    get mode() {
      return mode
    },
    set mode(next) {
      share = enforcedShare(next)
      mode = next
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
      if (options === noOptions) return request("peek", key, noOptions)
      try {
        checkFields("INVALID_OPTION", "a peek", options, ["cost", "policy"])
        return request("peek", key, options)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    on(key, options = noOptions) {
      checkFields("INVALID_OPTION", "a request", options, ["cost", "policy"])
      // Check the cost and the policy now, so that a mistake throws here.
      chargesOf(key, options)
      return claimOn({
        limiter: name,
        key,
        baseStore,
        store,
        rules,
        outage: whenOut.policy,
        waiters,
        maxWait,
        observes: () => observes(key),
        cost: () => options.cost ?? 1,
        policies: () => policiesFor(key, options.policy),
      })
    },
    async reserve<O extends Policies>(key: string, options: ReserveOptions<O> = noOptions) {
      checkFields("INVALID_OPTION", "a reservation", options, ["cost", "policy", "ttl"])
      const { cost = 1, ttl = "10m" } = options
      const lasts = milliseconds(ttl, "ttl", "INVALID_OPTION") * 1_000
      const policies = policiesFor(key, options.policy)
      const charged = charges<NameOf<O>>(policies, key, cost)
      const id = newReservation(charged)
      const note = { ref: placeOfReservation(name, key, id), lasts }
      const since = listener && monotonic()
      let granted = 0
      let decision: Decision<NameOf<O>>
      try {
        const answer = await store.decide({ policies: charged, count: 1, mode: "reserve", note })
        granted = answer.granted
        decision = conclude("reserve", charged, answer, since)
      } catch (error) {
        decision = rescue("reserve", charged, error, since)
      }
      return { decision, ...pending<O>(key, id, policies, granted > 0 || !decision.allowed) }
    },
    reservation(key, id, options = noOptions) {
      checkFields("INVALID_OPTION", "a reservation", options, ["policy"])
      reservedUnder(id)
      return pending(key, id, policiesFor(key, options.policy))
    },
    async charge<O extends Policies>(key: string, cost: Amount<O>, options: CallOptions<O> = noOptions) {
      checkFields("INVALID_OPTION", "a charge", options, ["policy"])
      const charged = debits<NameOf<O>>(policiesFor(key, options.policy), key, cost)
      const since = listener && monotonic()
      const forOne = charged.map((charge) => ({ ...charge, cost: 1 }))
      try {
        const answer = await store.decide({ policies: charged, count: 1, mode: "charge", maxWait })
        return conclude("charge", charged, answer, since, 0, forOne)
      } catch (error) {
        return rescue("charge", charged, error, since)
      }
    },
    async refund(key, cost, options = noOptions) {
      checkFields("INVALID_OPTION", "a refund", options, ["policy"])
      await store.giveBack(debits(policiesFor(key, options.policy), key, cost))
    },
    async inspect<O extends Policies>(key: string, options: InspectOptions<O> = noOptions) {
      checkFields("INVALID_OPTION", "an inspection", options, ["policy", "reservation"])
      const charged = charges(policiesFor(key, options.policy), key, 1)
      const { inspectKey } = await import("./inspect.js")
      const core = { decide, reservedUnder, placeOfReservation }
      return inspectKey({ name, key, charged, options, store, baseStore, rules, observes, core })
    },
    async reset(key, options = noOptions) {
      checkFields("INVALID_OPTION", "a reset", options, ["policy"])
      await store.forget(policiesFor(key, options.policy).map(({ ref }) => ({ ref, key })))
    },
    close,
    [Symbol.asyncDispose]: close,
    // Without it, the printers of vitest and chai would call `inspect` above to print a limiter.
    [Symbol.for("nodejs.util.inspect.custom")]: () => `Limiter ${shown(name)}`,
  } as Limiter<P, N>
}

/** Returns the reference of a policy by its name. References are cached. */
function scopes(limiter: string): (policy: string) => PolicyRef {
  const known = new Map<string, PolicyRef>()
  return (policy) => {
    let ref = known.get(policy)
    if (ref === undefined) {
      if (known.size >= MOST_NAMES) throw tooManyNames(limiter, policy)
      ref = policyRef(limiter, policy)
      known.set(flatCopy(policy), ref)
    }
    return ref
  }
}

function tooManyNames(limiter: string, policy: string): SluiceError {
  return new SluiceError(
    "INVALID_POLICY",
    `limiter ${shown(limiter)} has used ${MOST_NAMES} policy names, so ${shown(policy)} is refused; names must not come from user input`,
  )
}

function refuseLeaky(named: Named): void {
  const leaky = named.find(({ policy }) => policy.algorithm === "leakyBucket")
  if (leaky === undefined) return
  throw new SluiceError(
    "INVALID_POLICY",
    `policy ${shown(leaky.name)} is a leakyBucket, which cannot be leased`,
  )
}

/** Whether an error is about the store, not about how it was called. */
function ofStore(error: unknown): boolean {
  return !(error instanceof SluiceError) || error.code.startsWith("STORE_")
}

function closedError(name: string): SluiceError {
  return new SluiceError("CLOSED", `limiter ${shown(name)} is closed; create another`)
}
