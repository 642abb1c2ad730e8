/// <reference lib="esnext.disposable" preserve="true" />

import type { Claim } from "./combine.js"
import type { Decision } from "./decision.js"
import type { Duration } from "./duration.js"
import type { Inspection } from "./inspect.js"
import type { LeaseOptions } from "./layers/lease-options.js"
import type { Health } from "./layers/outage.js"
import type { OutageOptions } from "./layers/outage-options.js"
import type { LimiterMode } from "./mode.js"
import type { Amount, Cost, Named, NameOf, Policies } from "./policies.js"
import type { Pending } from "./reservation.js"
import type { StateRef } from "./state-key.js"
import type { Store } from "./store.js"
import type { Signal, WaitOptions } from "./waiting/wait-options.js"

export interface LimiterOptions<P extends Policies, N extends string = string> extends WaitOptions {
  /** Part of every key, so that limiters on one store do not share counts. Default: `"default"`. */
  readonly name?: N | undefined
  /** The policy, or several by name, or a function from the key to either. */
  readonly policy: P | ((key: string) => P)
  /** Where state lives. Default: a memory store of its own. */
  readonly store?: Store | undefined
  /**
   * Takes units of a busy key from the store in blocks, and spends them without a round trip. `true` means blocks of at most a
   * tenth of the limit that last 100 ms. It never admits more than the store granted. In any span of time it admits at most
   * what the policy admits in that span plus the lease time. Ignored for stores inside the process.
   */
  readonly lease?: boolean | LeaseOptions | undefined
  /**
   * How requests are decided when the store does not answer in time. Default: the call rejects after one second. Ignored for
   * stores inside the process.
   */
  readonly outage?: OutageOptions | undefined
  /**
   * `"observe"` decides and counts as usual, but lets every request pass: one that would have been denied passes with
   * `observed: "denied"` and is charged nothing. `{ enforce: 0.1 }` enforces for a tenth of the keys. Default:
   * `"enforce"`.
   */
  readonly mode?: LimiterMode | undefined
  /** Exceptions for single keys and prefixes, from `createRules(store)` of `sluice/rules`. */
  readonly rules?: RuleSource | undefined
}

/** Where a limiter gets rules from: `createRules` of `sluice/rules` makes one. */
export interface RuleSource {
  /** Puts the rules over the layers of a limiter. */
  attach(limiter: {
    readonly name: string
    readonly baseStore: Store
    readonly store: Store
    /** The limiter's policies, if they do not depend on the key. */
    readonly policies: Named | undefined
    /** Called when the rules of some states have changed, of this limiter or of another. */
    onChange(matches: (state: StateRef) => boolean): void
  }): { readonly store: Store; detach(): void }
  /** The rule that a key is held to. */
  find(limiter: string, key: string): unknown
}

/** Policies for one call, instead of the limiter's. */
export interface CallOptions<P extends Policies> {
  readonly policy?: P | undefined
}

export interface InspectOptions<P extends Policies> extends CallOptions<P> {
  /** The id of a reservation of this key, to look it up as well. */
  readonly reservation?: string | undefined
}

export interface RequestOptions<P extends Policies> extends CallOptions<P> {
  /** Units, or units by policy name. Default: 1. */
  readonly cost?: Cost<NoInfer<P>> | undefined
}

export interface AcquireOptions<P extends Policies> extends RequestOptions<P> {
  /** Ends the wait. The turn is given back, and the call rejects with the signal's reason. */
  readonly signal?: Signal | undefined
}

export interface TryAcquireOptions<P extends Policies> extends AcquireOptions<P> {
  /** How long the request may wait for its turn. Default: 0. If its turn would come later, it is denied at once. */
  readonly timeout?: Duration | undefined
}

export interface ReserveOptions<P extends Policies> extends RequestOptions<P> {
  /** How long it can be settled. Default: `"10m"`. After that it has cost the estimate. */
  readonly ttl?: Duration | undefined
}

/** An estimate that was spent, or denied. */
export interface Reservation<P extends Policies = Policies, O extends Policies = P> extends Pending<O> {
  /** Whether the estimate was spent. A denied reservation has nothing to settle. */
  readonly decision: Decision<NameOf<O>>
}

/** Limits how often each key may do something. */
export interface Limiter<P extends Policies = Policies, N extends string = string> extends AsyncDisposable {
  readonly name: N
  /** Whether the store answers, and how many decisions were made without it. */
  readonly health: Health
  /** Whether it enforces or observes. Set it to change that at once, in this process. */
  mode: LimiterMode
  /** Spends the cost if every policy has room. With `timeout`, it waits that long for its turn. */
  tryAcquire<O extends Policies = P>(
    key: string,
    options?: TryAcquireOptions<O>,
  ): Promise<Decision<NameOf<O>>>
  /**
   * Waits for its turn, in the order of the requests, and spends the cost then. Rejects at once with `QUEUE_FULL` or
   * `WAIT_TOO_LONG` if there is no turn within `maxWait`.
   */
  acquire<O extends Policies = P>(key: string, options?: AcquireOptions<O>): Promise<Decision<NameOf<O>>>
  /** Waits like `acquire`, then runs `work` and resolves with its result. */
  run<T, O extends Policies = P>(
    key: string,
    work: (decision: Decision<NameOf<O>>) => T | PromiseLike<T>,
    options?: AcquireOptions<O>,
  ): Promise<T>
  /** Decides as `tryAcquire` would, and spends nothing. */
  peek<O extends Policies = P>(key: string, options?: RequestOptions<O>): Promise<Decision<NameOf<O>>>
  /** A request to combine with those of other limiters: `combine([a.on(org), b.on(user)])`. */
  on<O extends Policies = P>(key: string, options?: RequestOptions<O>): Claim<`${N}:${NameOf<O>}`>
  /** Spends an estimate. Settle it when the true cost is known. */
  reserve<O extends Policies = P>(key: string, options?: ReserveOptions<O>): Promise<Reservation<P, O>>
  /** Finds a reservation by its id, whichever process made it. */
  reservation<O extends Policies = P>(key: string, id: string, options?: CallOptions<O>): Pending<O>
  /**
   * Spends a cost that was already used, whether there is room or not. The rest becomes debt, which delays later requests.
   * `allowed` says whether there was room. If not, `retryAfter` says when a cost of 1 passes again.
   */
  charge<O extends Policies = P>(
    key: string,
    cost: Amount<NoInfer<O>>,
    options?: CallOptions<O>,
  ): Promise<Decision<NameOf<O>>>
  /** Gives spent units back to a key. The limiter then admits that much more. */
  refund<O extends Policies = P>(
    key: string,
    cost: Amount<NoInfer<O>>,
    options?: CallOptions<O>,
  ): Promise<void>
  /**
   * Shows an operator what is stored for a key, and changes nothing: each policy's level and stored state in numbers and words, the
   * end of the queue, the rule that applies, and a reservation by its id.
   */
  inspect<O extends Policies = P>(key: string, options?: InspectOptions<O>): Promise<Inspection>
  /** Makes a key like new under the limiter's policies, or under those given. */
  reset<O extends Policies = P>(key: string, options?: CallOptions<O>): Promise<void>
  /** Ends the limiter and its waits, and gives leases and turns back. Your store stays open. */
  close(): Promise<void>
}
