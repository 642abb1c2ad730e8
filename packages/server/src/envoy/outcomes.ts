import type { Decision, PolicyDecision } from "sluice"

/** What became of a descriptor. */
export interface Outcome {
  /** Whether it is over its limit. In shadow mode it passes anyway. */
  readonly isOver: boolean
  /** What its limiter says. Undefined if a remembered denial of another descriptor left it unknown. */
  readonly level: Level | undefined
}

export type Level = Pick<PolicyDecision, "limit" | "window" | "remaining" | "resetAfter">

/** The outcome of a request to one limiter. */
export function outcomeOf(decision: Decision): Outcome {
  return { isOver: !decision.allowed || decision.observed === "denied", level: decision }
}

/** Of several policies, the one that denies for the longest time, or else the one with the least left. */
export function tightest(policies: readonly PolicyDecision[]): Outcome {
  let [level] = policies
  for (const each of policies) {
    const isLonger = level !== undefined && each.retryAfter > level.retryAfter
    const isTighter = each.retryAfter === level?.retryAfter && each.remaining < level.remaining
    if (isLonger || isTighter) level = each
  }
  return { isOver: level?.allowed === false, level }
}
