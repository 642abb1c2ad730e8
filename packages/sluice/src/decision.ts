/** The decision of one policy among several. */
export interface PolicyDecision<Name extends string = string> {
  /** Whether this policy alone lets the cost pass. */
  readonly allowed: boolean
  readonly policy: Name
  readonly limit: number
  readonly window: number
  readonly remaining: number
  readonly retryAfter: number
  readonly resetAfter: number
}

/** The answer to a request. */
export interface Decision<Name extends string = string> {
  readonly allowed: boolean
  /** The policy that decided. In a denial: the one with the longest wait. Otherwise: the one with the least left. */
  readonly policy: Name
  /** The most that the policy ever grants at once: its limit or capacity. */
  readonly limit: number
  /** The window of the policy in milliseconds. For a bucket, the time from empty to full. */
  readonly window: number
  /** Whole units left now. */
  readonly remaining: number
  /** Milliseconds until the same cost passes. 0 when allowed, `Infinity` when it never can. */
  readonly retryAfter: number
  /** Milliseconds until the whole limit is available again. */
  readonly resetAfter: number
  /** Who decided: the store, the deny cache, a lease, the fallback during an outage, or a rule. */
  readonly source: "store" | "cache" | "lease" | "fallback" | "rule"
  /** Whether the fallback decided, because the store failed. */
  readonly degraded: boolean
  /** In observe mode: the request passed, and enforcement would have denied it. Nothing was charged for it. */
  readonly observed?: "denied"
  /** One entry per policy, when there are several. */
  readonly policies?: readonly PolicyDecision<Name>[]
}

/** What each policy says, also if there is only one. */
export function policyEntries<Name extends string>(
  decision: Decision<Name>,
): readonly PolicyDecision<Name>[] {
  const { allowed, policy, limit, window, remaining, retryAfter, resetAfter } = decision
  return decision.policies ?? [{ allowed, policy, limit, window, remaining, retryAfter, resetAfter }]
}
