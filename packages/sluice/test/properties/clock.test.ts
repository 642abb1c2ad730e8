import fc from "fast-check"
import type { Policy } from "sluice"
import { describe, expect, test } from "vitest"
import { type Attempt, attempts, grantsOf } from "../support/adversary.js"
import { boundOf, checkBound } from "../support/bounds.js"
import { anySize, anywhere, costOf, EPOCH, edgesOf, moved } from "../support/moves.js"
import { isInterval, kinds, limitOf, periodOf, policyOf } from "../support/policy-kinds.js"
import { type Reference, ref, reference } from "../support/reference.js"
import { varied } from "../support/seed.js"

const SECOND = 1_000_000
const HOUR = 3_600 * SECOND

/** Plays attempts from a moment on. Returns the moment of the last one, and the latest of all. */
function play(subject: Reference, policy: Policy, start: number, history: readonly Attempt[]) {
  let now = start
  let latest = start
  let edges: number[] = []
  for (const { move, size, count } of history) {
    now = moved(now, move, { policy, edges })
    latest = Math.max(latest, now)
    const policies = [{ ref: ref, key: "key", policy, cost: costOf(size, policy) }]
    const reply = subject.ask({ policies, count: count === 0 ? limitOf(policy) : count, mode: "spend" }, now)
    edges = edgesOf(policies, reply, now)
  }
  return { now, latest }
}

/** How far a clock jumps back: an hour, up to three periods, or any time. */
function jumpOf(policy: Policy): fc.Arbitrary<number> {
  return fc.oneof(
    fc.constant(HOUR),
    fc.integer({ min: 1, max: Math.min(3 * periodOf(policy), 1e14) }),
    fc.integer({ min: 1, max: 1e14 }),
  )
}

describe("a clock that jumps back grants nothing extra, and delays requests by at most a period or a second", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const wobbly = fc.array(
      fc.record({
        move: anywhere,
        size: anySize,
        count: fc.constantFrom(0, 1, 2),
        turn: fc.constant(0 as const),
      }),
      { maxLength: 12, size: "max" },
    )
    const setting = policyOf(kind).chain((policy) => fc.tuple(fc.constant(policy), jumpOf(policy)))
    const holds = fc.property(
      setting,
      fc.oneof(attempts, wobbly),
      fc.oneof(fc.constant([]), attempts),
      anySize,
      ([policy, jump], before, ahead, size) => {
        const subject = reference()
        const first = play(subject, policy, EPOCH, before)
        // Straight back, or first forward by as much with some requests there.
        const last = ahead.length === 0 ? first : play(subject, policy, first.now + jump, ahead)
        const latest = Math.max(first.latest, last.latest)
        const back = last.now - jump
        const policies = [{ ref: ref, key: "key", policy, cost: costOf(size, policy) }]
        const count = limitOf(policy)
        const room = subject.ask({ policies, count, mode: "peek" }, latest).granted
        const granted = subject.ask({ policies, count, mode: "spend" }, back).granted
        expect(granted).toBeLessThanOrEqual(room)

        const one = [{ ref: ref, key: "key", policy, cost: 1 }]
        subject.ask({ policies: one, count: 1, mode: "spend" }, back)
        // One period as without the jump, another period or a second for the jump, and up to the next step.
        const period = (Math.ceil(periodOf(policy) / 1_000) + 1) * 1_000
        const step = isInterval(policy) ? policy.every * 1_000 : 0
        const within = period + Math.max(period, SECOND) + step
        expect(subject.ask({ policies: one, count: 1, mode: "peek" }, back + within).granted).toBe(1)
      },
    )
    fc.assert(holds, { seed: varied(9), numRuns: 2_000 })
  })
})

describe("two clocks that differ by less than a period, or by less than a second, admit no more than one", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const setting = policyOf(kind).chain((policy) => {
      const most = Math.max(Math.min(periodOf(policy), 1e14), SECOND)
      return fc.tuple(
        fc.constant(policy),
        fc.oneof(fc.constant(1_000), fc.integer({ min: 1, max: most - 1 })),
      )
    })
    const holds = fc.property(setting, attempts, ([policy, skew], history) => {
      const behind = { ...policy }
      const subject = reference()
      const skewed = {
        ...subject,
        ask: (request: Parameters<typeof subject.ask>[0], now: number) =>
          subject.ask(request, request.policies[0]?.policy === behind ? now - skew : now),
      }
      const grants = grantsOf(skewed, [policy, behind], history).flat()
      grants.sort((a, b) => a.at - b.at)
      const bound = boundOf(policy)
      checkBound((units, span) => bound(units, span + BigInt(skew)), grants)
    })
    fc.assert(holds, { seed: varied(10), numRuns: 3_000 })
  })
})
