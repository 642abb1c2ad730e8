/// <reference lib="esnext.disposable" preserve="true" />

import type { Claim } from "./combine.js"
import type { Decision } from "./decision.js"
import type { Duration } from "./duration.js"
import type { LeaseOptions } from "./layers/lease-terms.js"
import type { OutageOptions } from "./layers/outage-terms.js"
import type { Cost, NameOf, Policies } from "./policies.js"
import type { Pending } from "./reservation.js"
import type { Health, Store } from "./store.js"
import type { Signal, WaitOptions } from "./waiting/terms.js"

export interface LimiterOptions<P extends Policies> extends WaitOptions {
  /** Sets its keys apart from those of other limiters on the store; `"default"` if left out. */
  readonly name?: string | undefined
  /** What it holds every key to, or a function of the key that tells. */
  readonly policy: P | ((key: string) => P)
  /** Where state lives; a memory store of its own if left out. */
  readonly store?: Store | undefined
  /**
   * Takes units of a busy key from the store in blocks and spends them here, without a round trip: `true` for blocks
   * of at most a tenth of the limit that last for 100 ms, or how long and what share. Never admits more than the
   * store has granted; in any span of time, at most what the policy admits in that span and the lease together. A store
   * in this process answers at once, and nothing is leased from it.
   */
  readonly lease?: boolean | LeaseOptions | undefined
  /**
   * What is done when the store does not answer in time: by default it is waited for a second, then the call rejects. A
   * store in this process always answers, and needs none of it.
   */
  readonly outage?: OutageOptions | undefined
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
  /** Whether its store answers, and how many decisions were made without it. */
  readonly health: Health
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
  /** An ask for a key, to be combined with those of other limiters: `combine([a.on(org), b.on(user)])`. */
  on<O extends Policies = P>(key: string, options?: AskOptions<O>): Claim
  /** Spends an estimate, to be settled when the true cost is known. */
  reserve<O extends Policies = P>(key: string, options?: ReserveOptions<O>): Promise<Reservation<P, O>>
  /** A reservation by its id, whichever process made it. */
  reservation<O extends Policies = P>(key: string, id: string, options?: CallOptions<O>): Pending<O>
  /**
   * Spends what was used already, whether there is room or not: what there is no room for is owed, and later asks wait
   * for it. Allowed says whether there was room; if not, `retryAfter` when a cost of 1 passes again.
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
