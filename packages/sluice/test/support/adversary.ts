import fc from "fast-check"
import type { Policy } from "sluice"
import type { Grant } from "./bounds.js"
import { anySize, costOf, EPOCH, edgesOf, forward, type Move, moved, type Size } from "./moves.js"
import { limitOf } from "./policy-kinds.js"
import type { Reference } from "./reference.js"
import { ref } from "./reference.js"

/** One attempt to get more than the policy allows. */
export interface Attempt {
  readonly move: Move
  readonly size: Size
  /** How many at once. 0 means as many as possible. */
  readonly count: number
  /** Which policy, if there are two. */
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

/** Makes attempts on one key with a clock that only goes forward. Returns the grants of each policy. */
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
    const parts = [{ ref: ref, key: "key", policy, cost: costOf(size, policy) }]
    const reply = subject.ask(
      { policies: parts, count: count === 0 ? limitOf(policy) : count, mode: "spend" },
      now,
    )
    if (reply.granted > 0) grants[index]?.push({ at: now, units: reply.granted * costOf(size, policy) })
    edges = edgesOf(parts, reply, now)
  }
  return grants
}
