// The private side of a claim: `combine` reads it, and the limiter provides it.

import type { Decision } from "./decision.js"
import type { Call } from "./events.js"
import type { OutagePolicy } from "./layers/outage-options.js"
import type { Charge, Named } from "./policies.js"
import type { StateRef } from "./state-key.js"
import type { PolicyRequest, Store } from "./store.js"
import type { Waiting } from "./waiting/waiting.js"

/** The private data of a claim, which its limiter provides. */
export interface Behind {
  readonly limiter: string
  readonly key: string
  /** The store that was passed to the limiter. */
  readonly baseStore: Store
  /** The same store with the limiter's layers. */
  readonly store: Store
  readonly rules: unknown
  readonly outage: OutagePolicy
  readonly waiters: Waiting
  /** Microseconds. */
  readonly maxWait: number
  /** Whether the limiter only observes the key. */
  observes(): boolean
  /** The cost of the claim. */
  cost(): unknown
  /** Returns the policies for the key. Throws if the limiter is closed. */
  policies(): Named
}

/** Reports each limiter's part of a decision to the listener, and returns the decision. */
export type Report<Name extends string> = (
  call: Call,
  charged: readonly Charge<Name>[],
  decision: Decision<Name>,
) => Decision<Name>

/** Whether a policy belongs to a claim. */
export function isOf(behind: Behind): (policy: PolicyRequest) => boolean {
  const refs = new Set(behind.policies().map(({ ref }) => ref))
  return ({ ref, key }) => key === behind.key && refs.has(ref)
}

/** Whether states are in different slots of a Cluster, so that no atomic step can change all of them. */
export function spansSlots({ shardOf }: Store, places: readonly StateRef[]): boolean {
  return shardOf?.(places) === ""
}
