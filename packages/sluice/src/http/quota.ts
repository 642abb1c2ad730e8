import type { Decision, PolicyDecision } from "../decision.js"

/** Texts by policy name. */
export type ByPolicy = Readonly<Record<string, string>>

/** The state of one policy, as the headers show it to a client. */
export interface Quota extends Omit<PolicyDecision, "policy"> {
  /** The public name of the policy. */
  readonly name: string
  /** The unit, if it is not a request. */
  readonly unit: string | undefined
}

/** The quotas in a decision, one for each policy. */
export function quotasOf(decision: Decision, names: ByPolicy = {}, units: ByPolicy = {}): Quota[] {
  const policies: readonly PolicyDecision[] = decision.policies ?? [decision]
  return policies.map(({ policy, allowed, limit, window, remaining, retryAfter, resetAfter }) => ({
    name: own(names, policy) ?? policy,
    unit: own(units, policy),
    allowed,
    limit,
    window,
    remaining,
    retryAfter,
    resetAfter,
  }))
}

/** The quota for header formats that show only one: the longest denial, or else the least remaining. */
export function tightest(quotas: readonly Quota[]): Quota {
  return quotas.reduce((a, b) => {
    if (a.allowed !== b.allowed) return a.allowed ? b : a
    const tighter = a.allowed ? b.remaining < a.remaining : b.retryAfter > a.retryAfter
    return tighter ? b : a
  })
}

/** Seconds until the reset. For a denied policy, the seconds until its cost passes, so that it agrees with Retry-After. */
export function resetSeconds({ allowed, window, retryAfter, resetAfter }: Quota): number {
  const ms = allowed ? resetAfter : retryAfter
  if (ms === 0) return 0
  return wholeSeconds(Number.isFinite(ms) ? ms : window)
}

/** Whole seconds, rounded up, because a client that returns earlier is denied again. */
export function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

/** The text for a policy. A policy may be called `constructor`, so only own fields count. */
function own(texts: ByPolicy, policy: string): string | undefined {
  return Object.hasOwn(texts, policy) ? texts[policy] : undefined
}
