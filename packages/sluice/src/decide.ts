import { algorithmOf, parametersOf } from "./algorithms/index.js"
import { wholeMilliseconds } from "./clock.js"
import type { Decision, PolicyDecision } from "./decision.js"
import type { Charge } from "./policies.js"
import { limitOf, type Policy, windowOf } from "./policy.js"
import type { StoreReply } from "./store.js"

/** Turns a store's reply into a Decision. */
export function decide<Name extends string>(
  charged: readonly Charge<Name>[],
  { granted, levels, source: layer, at, turn = at, under }: StoreReply,
): Decision<Name> {
  const allowed = granted > 0
  // A denied turn is at least this far ahead.
  const atLeast = allowed ? 0 : wholeMilliseconds(turn - at)
  const source = layer ?? "store"
  const degraded = layer === "fallback"
  const policies: PolicyDecision<Name>[] = []
  let decisive = 0
  for (let i = 0; i < charged.length; i += 1) {
    const { name, cost, policy: own } = charged[i] as Charge<Name>
    const policy = under?.[i] ?? own
    const level = levels[i]
    const {
      limit,
      window,
      remaining,
      resetAfter,
      retryAfter: explained,
    } = level === undefined
      ? unknown(policy, cost, allowed, atLeast)
      : algorithmOf(policy).explain(parametersOf(policy, cost), level, allowed, turn > at)
    // Not longer than the wait for the turn itself, which may come earlier because another turn was given back.
    const retryAfter = turn > at && level !== undefined ? Math.min(explained, atLeast) : explained
    if (charged.length === 1) {
      // Most limiters have one policy, so they need no list.
      return {
        allowed,
        policy: name,
        limit,
        window,
        remaining,
        retryAfter: Math.max(retryAfter, atLeast),
        resetAfter,
        source,
        degraded,
      }
    }
    policies.push({
      allowed: retryAfter === 0,
      policy: name,
      limit,
      window,
      remaining,
      retryAfter,
      resetAfter,
    })
    const best = policies[decisive] as PolicyDecision<Name>
    const tighter = remaining / cost < best.remaining / (charged[decisive] as Charge).cost
    if (allowed ? tighter : retryAfter > best.retryAfter) decisive = i
  }
  const tightest = policies[decisive] as PolicyDecision<Name>
  const retryAfter = Math.max(tightest.retryAfter, atLeast)
  return { ...tightest, allowed, retryAfter, source, degraded, policies }
}

/** Explains a policy whose level is unknown. After a denial, nothing remains until the store is probed again. */
function unknown(policy: Policy, cost: number, allowed: boolean, retryAfter: number) {
  const limit = limitOf(policy)
  const window = windowOf(policy)
  const wait = cost > limit && !allowed ? Number.POSITIVE_INFINITY : retryAfter
  return { limit, window, remaining: allowed ? limit : 0, resetAfter: retryAfter, retryAfter: wait }
}
