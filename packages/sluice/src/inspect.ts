import { type Decision, type PolicyDecision, policyEntries } from "./decision.js"

/** What is stored for a key under one policy. */
export interface InspectedPolicy extends Omit<PolicyDecision, "allowed"> {
  /** Units that count now: the limit less what remains. */
  readonly used: number
  /** The same in words. */
  readonly words: string
}

/** What an operator can read about a key. */
export interface Inspection {
  readonly key: string
  readonly policies: readonly InspectedPolicy[]
  /** The rule that the key is held to, as `rules.find` has it. */
  readonly rule?: unknown
  /** Whether the limiter enforces for this key, or only observes. */
  readonly mode: "enforce" | "observe"
  /** Whether the store did not answer, so that these are not its numbers. */
  readonly degraded: boolean
}

/** Puts the answer to a peek of cost 1 into numbers and words. */
export function inspectionOf(
  key: string,
  decision: Decision,
  { rule, observes }: { rule: unknown; observes: boolean },
): Inspection {
  const policies = policyEntries(decision).map(({ allowed: _, ...level }) => {
    const { limit, remaining, retryAfter, resetAfter } = level
    const left = `${remaining} of ${limit} left`
    const next = retryAfter > 0 ? `, the next request passes in ${retryAfter} ms` : ""
    const words = `${left}${next}${resetAfter > 0 ? `, nothing spent in ${resetAfter} ms` : ""}`
    return { ...level, used: limit - remaining, words }
  })
  const mode = observes ? "observe" : "enforce"
  return { key, policies, mode, degraded: decision.degraded, ...(rule !== undefined && { rule }) }
}
