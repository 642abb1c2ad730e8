import fc from "fast-check"
import { createLimiter, type Decision, memoryStore, type Policy, type Store } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { costOfEach } from "../support/cost-of-each.js"
import { distantStore } from "../support/distant-store.js"
import { anySize, anywhere, costOf, EPOCH, type Move, moved, type Size } from "../support/moves.js"
import { kinds, policyOf } from "../support/policy-kinds.js"
import { reference } from "../support/reference.js"
import { varied } from "../support/seed.js"

interface Step {
  readonly call: "ask" | "refund" | "reset"
  readonly move: Move
  readonly size: Size
  readonly key: number
  /** One of two policies on the same key, or both. */
  readonly under: "one" | "other" | "both"
}

const step = fc.record<Step>({
  call: fc.constantFrom("ask", "ask", "ask", "ask", "ask", "ask", "refund", "reset"),
  move: anywhere,
  size: anySize,
  key: fc.constantFrom(0, 0, 0, 1),
  under: fc.constantFrom("one", "one", "one", "other", "both"),
})

/** A decision without its source. Without `remaining` for a log, because the cache does not know which entries expired. */
function said(decision: Decision, policies: readonly Policy[]) {
  const logs = policies.some(({ algorithm }) => algorithm.startsWith("sliding"))
  const { allowed, policy, limit, retryAfter, resetAfter } = decision
  return { allowed, policy, limit, retryAfter, resetAfter, remaining: logs ? undefined : decision.remaining }
}

/** How many decisions of a history came from the cache. Checks that the store would decide the same. */
async function recalled(one: Policy, other: Policy, history: readonly Step[]): Promise<number> {
  const clock = manualClock(EPOCH / 1_000)
  // A store that forgets nothing, because expired states count again when the clock goes back.
  const states = reference()
  const baseStore: Store = {
    ...memoryStore({ clock }),
    decide: (request) => states.ask(request, now),
    giveBack: (policies, at) => states.giveBack(policies, now, at),
    forget: (stateRefs) => states.forget(stateRefs, now),
  }
  const cached = createLimiter({
    name: "n",
    policy: () => one,
    store: distantStore(clock, undefined, baseStore),
  })
  const direct = createLimiter({ name: "n", policy: () => one, store: baseStore })
  let now = EPOCH
  let edges: number[] = []
  let count = 0
  for (const { call, move, size, key, under } of history) {
    now = moved(now, move, { policy: one, edges })
    clock.set(now / 1_000)
    const policy = under === "both" ? { default: one, other } : under === "one" ? one : other
    const policies = under === "both" ? [one, other] : [under === "one" ? one : other]
    const cost = costOfEach(policy, costOf(size, policies[0] as Policy))
    if (call === "reset") await cached.reset(`${key}`, { policy })
    else if (call === "refund") await cached.refund(`${key}`, cost, { policy })
    else {
      const exact = await direct.peek(`${key}`, { cost, policy })
      const decision = await cached.tryAcquire(`${key}`, { cost, policy })
      edges = [now + exact.retryAfter * 1_000 - 1_000, now + exact.retryAfter * 1_000, now + 1_000_000]
      if (decision.source !== "cache") continue
      count += 1
      expect(said(decision, policies)).toEqual(said(exact, policies))
    }
  }
  return count
}

describe("a cached denial is what the store would decide at that moment", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, async (kind) => {
    let count = 0
    const any = fc.constantFrom(...kinds).chain(policyOf)
    const history = fc.array(step, { minLength: 5, maxLength: 40, size: "max" })
    await fc.assert(
      fc.asyncProperty(policyOf(kind), any, history, async (one, other, steps) => {
        count += await recalled(one, other, steps)
      }),
      { seed: varied(11), numRuns: 600 },
    )
    expect(count).toBeGreaterThan(60)
  })
})
