import type { Granted } from "./algorithm.js"
import { countingOf, termsOf } from "./algorithms/index.js"
import { wholeMilliseconds } from "./clock.js"
import type { Charge } from "./policies.js"
import type { Answer } from "./store.js"

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

/** That one policy, asked alone, has let an ask pass. */
export function allowedBy<Name extends string>(
  policy: Name,
  { limit, remaining, resetAfter }: Granted,
  source: Decision["source"],
): Decision<Name> {
  return { allowed: true, policy, limit, remaining, retryAfter: 0, resetAfter, source, degraded: false }
}

/** Puts a store's answer to what was charged into words. */
export function decide<Name extends string>(
  charged: readonly Charge<Name>[],
  { granted, levels, source: layer, at, turn = at, under }: Answer,
): Decision<Name> {
  const allowed = granted > 0
  // of a turn that is too far ahead
  const atLeast = allowed ? 0 : wholeMilliseconds(turn - at)
  const source = layer ?? "store"
  const degraded = layer === "fallback"
  const policies: PolicyDecision<Name>[] = []
  let decisive = 0
  for (let i = 0; i < charged.length; i += 1) {
    const { name, cost, policy: own } = charged[i] as Charge<Name>
    const policy = under?.[i] ?? own
    const {
      limit,
      remaining,
      resetAfter,
      retryAfter: explained,
    } = countingOf(policy).algorithm.explain(
      termsOf(policy, cost),
      levels[i] as readonly number[],
      allowed,
      turn > at,
    )
    // no longer than for all of them: somebody may have given up a turn
    const retryAfter = turn > at ? Math.min(explained, atLeast) : explained
    if (charged.length === 1) {
      // most limiters have one policy: no list is made
      return {
        allowed,
        policy: name,
        limit,
        remaining,
        retryAfter: Math.max(retryAfter, atLeast),
        resetAfter,
        source,
        degraded,
      }
    }
    policies.push({ allowed: retryAfter === 0, policy: name, limit, remaining, retryAfter, resetAfter })
    const best = policies[decisive] as PolicyDecision<Name>
    const tighter = remaining / cost < best.remaining / (charged[decisive] as Charge).cost
    if (allowed ? tighter : retryAfter > best.retryAfter) decisive = i
  }
  const { policy, limit, remaining, retryAfter: own, resetAfter } = policies[decisive] as PolicyDecision<Name>
  const retryAfter = Math.max(own, atLeast)
  return { allowed, policy, limit, remaining, retryAfter, resetAfter, source, degraded, policies }
}
