import { countingOf, termsOf } from "./algorithms/index.js"
import type { Answer, Part } from "./store.js"

/** What one of several policies says. */
export interface PolicyDecision<Name extends string = string> {
  /** Whether this policy alone lets the cost pass. */
  readonly allowed: boolean
  readonly policy: Name
  readonly limit: number
  readonly remaining: number
  readonly retryAfter: number
  readonly resetAfter: number
}

/** The answer to an ask. */
export interface Decision<Name extends string = string> {
  readonly allowed: boolean
  /** The policy that decided: the one that denied longest, or the tightest that allowed. */
  readonly policy: Name
  /** The most it ever grants at once: its limit or capacity. */
  readonly limit: number
  /** Whole units left now. */
  readonly remaining: number
  /** Milliseconds until this same cost passes; 0 when allowed; `Infinity` when it never can. */
  readonly retryAfter: number
  /** Milliseconds until nothing is spent any more. */
  readonly resetAfter: number
  /** Who answered. */
  readonly source: "store" | "cache" | "lease" | "fallback"
  /** Whether the answer was given without the store that should have given it. */
  readonly degraded: boolean
  /** One entry per policy that was asked, when there are several. */
  readonly policies?: readonly PolicyDecision<Name>[]
}

/** Puts a store's answer into words; `names` are those of the policies behind `parts`. */
export function decide<Name extends string>(
  names: readonly Name[],
  parts: readonly Part[],
  { granted, levels }: Answer,
): Decision<Name> {
  const allowed = granted > 0
  const policies = parts.map((part, i) => {
    const { algorithm } = countingOf(part.policy)
    const { limit, remaining, retryAfter, resetAfter } = algorithm.explain(
      termsOf(part.policy, part.cost),
      levels[i] as readonly number[],
    )
    const wait = allowed ? 0 : retryAfter
    return { allowed: wait === 0, policy: names[i] as Name, limit, remaining, retryAfter: wait, resetAfter }
  })
  let decisive = 0
  for (let i = 1; i < policies.length; i += 1) {
    const [a, b] = [policies[decisive], policies[i]] as [PolicyDecision, PolicyDecision]
    const tighter = b.remaining / (parts[i] as Part).cost < a.remaining / (parts[decisive] as Part).cost
    if (allowed ? tighter : b.retryAfter > a.retryAfter) decisive = i
  }
  const { policy, limit, remaining, retryAfter, resetAfter } = policies[decisive] as PolicyDecision<Name>
  const decision = {
    allowed,
    policy,
    limit,
    remaining,
    retryAfter,
    resetAfter,
    source: "store",
    degraded: false,
  } as const
  return policies.length > 1 ? { ...decision, policies } : decision
}
