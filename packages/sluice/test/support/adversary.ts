import fc from "fast-check"
import type { Policy } from "sluice"
import type { Grant } from "./bounds.js"
import { anySize, costOf, EPOCH, edgesOf, forward, type Move, moved, type Size } from "./moves.js"
import { limitOf } from "./policy-kinds.js"
import type { Reference } from "./reference.js"
import { scope } from "./reference.js"

/** One attempt to get more than the policy allows. */
export interface Attempt {
  readonly move: Move
  readonly size: Size
  /** How many at once; 0 is as many as there can be. */
  readonly count: number
  /** Which of the policies, where there are two. */
  readonly turn: 0 | 1
}

export const attempts = fc.array(
  fc.record<Attempt>({
    move: forward,
    size: anySize,
    count: fc.constantFrom(0, 0, 1, 1, 2, 5),
    turn: fc.constantFrom(0, 1),
  }),
  { minLength: 2, maxLength: 24, size: "max" },
)

/** Makes attempts on one key, whose clock only goes forward; the grants of each policy. */
export function grantsOf(
  subject: Reference,
  policies: readonly [Policy] | readonly [Policy, Policy],
  history: readonly Attempt[],
): Grant[][] {
  const grants: Grant[][] = policies.map(() => [])
  let now = EPOCH
  let edges: number[] = []
  for (const { move, size, count, turn } of history) {
    const index = turn % policies.length
    const policy = policies[index] as Policy
    now = moved(now, move, { policy, edges })
    const parts = [{ scope, key: "key", policy, cost: costOf(size, policy) }]
    const answer = subject.ask({ parts, count: count === 0 ? limitOf(policy) : count, mode: "spend" }, now)
    if (answer.granted > 0) grants[index]?.push({ at: now, units: answer.granted * costOf(size, policy) })
    edges = edgesOf(parts, answer, now)
  }
  return grants
}
