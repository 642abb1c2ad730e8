import type { Decision, PolicyDecision } from "sluice"
import type { Claimed } from "./decide-targets.js"
import { type Outcome, tightest } from "./outcomes.js"

/** Splits the decision of several limiters into what each of them says. */
export function splitDecision(
  decision: Decision,
  claims: readonly Claimed[],
  peek: (claim: Claimed) => Promise<Outcome>,
): Outcome[] | Promise<Outcome[]> {
  const policies = decision.policies ?? [decision]
  const expected = claims.reduce((sum, { policyNames }) => sum + policyNames.length, 0)
  if (policies.length === expected) return blamed(decision, inOrder(policies, claims))
  return byName(policies, claims, peek).then((outcomes) => blamed(decision, outcomes))
}

/** The fallback of an outage denies without saying which limit is at fault. Then it is all of them. */
function blamed({ allowed }: Decision, outcomes: Outcome[]): Outcome[] {
  if (allowed || outcomes.some(({ isOver }) => isOver)) return outcomes
  return outcomes.map((outcome) => ({ ...outcome, isOver: true }))
}

function inOrder(policies: readonly PolicyDecision[], claims: readonly Claimed[]): Outcome[] {
  let start = 0
  return claims.map(({ policyNames }) => {
    const own = policies.slice(start, start + policyNames.length)
    start += policyNames.length
    return tightest(own)
  })
}

/**
 * A remembered denial knows only the limit that denied. The store is not asked about the others, so that a flood of denied
 * requests does not reach it. It is asked only if the limiter has several keys in the request, and either may be meant.
 */
function byName(
  policies: readonly PolicyDecision[],
  claims: readonly Claimed[],
  peek: (claim: Claimed) => Promise<Outcome>,
): Promise<Outcome[]> {
  return Promise.all(
    claims.map(async (claim): Promise<Outcome> => {
      const { limiter, policyNames } = claim
      const names = new Set(policyNames.map((name) => `${limiter.name}:${name}`))
      const own = policies.filter(({ policy }) => names.has(policy))
      if (own.length === 0) return { isOver: false, level: undefined }
      const isUnclear = claims.filter((each) => each.limiter === limiter).length > 1
      return isUnclear ? peek(claim) : tightest(own)
    }),
  )
}
