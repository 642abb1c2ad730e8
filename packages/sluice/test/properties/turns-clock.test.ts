import fc from "fast-check"
import type { Policy } from "sluice"
import { describe, expect, test } from "vitest"
import { anySize, EPOCH, moved } from "../support/moves.js"
import { isInterval, type Kind, kinds, limitOf, periodOf, policyOf } from "../support/policy-kinds.js"
import { sampling } from "../support/seed.js"
import { actsOf, type Change, maxWaitOf, partsOf, storeAt } from "../support/turn-players.js"
import { forgetsOnTheWayBack } from "./turn-breakages.js"

const HOUR = 3_600_000_000

/** A policy, and how far its clock jumps back: an hour, up to three periods, or any time. */
function settingOf(kind: Kind): fc.Arbitrary<readonly [Policy, number]> {
  return policyOf(kind).chain((policy) =>
    fc.tuple(
      fc.constant(policy),
      fc.oneof(
        fc.constant(HOUR),
        fc.integer({ min: 1, max: Math.min(3 * periodOf(policy), 1e14) }),
        fc.integer({ min: 1, max: 1e14 }),
      ),
    ),
  )
}

function search(kind: Kind, seed: number, change?: Change) {
  const acts = actsOf(["spend", "book", "book", "charge"], 12)
  const holds = fc.property(settingOf(kind), acts, anySize, ([policy, jump], history, size) => {
    const policies = partsOf([policy], size)
    /** How many requests fit, and how long a waiter waits, some time before the end of the history. */
    const seenFrom = (back: number) => {
      const { store, set } = storeAt(change)
      let now = EPOCH
      for (const { call, move, size: each, choice } of history) {
        now = moved(now, move, { policy, edges: [] })
        set(now)
        const maxWait = maxWaitOf(policy, choice)
        store.decide({ policies: partsOf([policy], each), count: 1, mode: call as "spend", maxWait })
      }
      now -= back
      set(now)
      const { granted: room } = store.decide({ policies, count: limitOf(policy), mode: "peek" })
      const { turn = Number.POSITIVE_INFINITY } = store.decide({
        policies,
        count: 1,
        mode: "book",
        maxWait: 1e15,
      })
      return { room, wait: turn - now }
    }
    const [here, there] = [seenFrom(0), seenFrom(jump)]
    expect(there.room).toBeLessThanOrEqual(here.room)
    // Units that count as spent now come back at a step from now, which may be earlier by less than a step.
    const step = isInterval(policy) ? policy.every * 1_000 : 0
    expect(there.wait).toBeGreaterThanOrEqual(here.wait - step)
  })
  return fc.check(holds, sampling(seed, 2_000, change))
}

describe("a clock that goes back lets no request pass sooner, whatever is booked or in debt", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const found = search(kind, 18)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
    expect(search(kind, 18, forgetsOnTheWayBack.change).failed).toBe(true)
  })
})
