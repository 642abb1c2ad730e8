import fc from "fast-check"
import { fixedWindow, leakyBucket, slidingLog, slidingWindow, tokenBucket } from "sluice"
import { describe, expect, test } from "vitest"
import { kinds, policyOf } from "../../test/support/policy-kinds.js"
import { LONGEST_MS } from "../duration.js"
import { localShare } from "./local-share.js"

describe("a share of a policy", () => {
  test.each([
    [fixedWindow({ limit: 100, window: "1m" }), 0.25, fixedWindow({ limit: 25, window: "1m" })],
    [slidingLog({ limit: 3, window: "1m" }), 0.5, slidingLog({ limit: 1, window: "1m" })],
    [slidingWindow({ limit: 3, window: "1m" }), 0.1, slidingWindow({ limit: 1, window: "1m" })],
    [
      tokenBucket({ capacity: 100, refill: 10, every: "1s" }),
      0.2,
      tokenBucket({ capacity: 20, refill: 2, every: "1s" }),
    ],
    [
      tokenBucket({ capacity: 100, refill: 1, every: "1s" }),
      0.25,
      tokenBucket({ capacity: 25, refill: 1, every: "4s" }),
    ],
    [
      leakyBucket({ capacity: 8, leak: 2, every: "1s" }),
      0.25,
      leakyBucket({ capacity: 2, leak: 1, every: "2s" }),
    ],
  ])("%o by %d", (policy, share, expected) => {
    expect(localShare(policy, share)).toEqual(expected)
  })

  test.each(kinds)("of any %s is a policy that admits no more at any rate, or one unit at once", (kind) => {
    const share = fc.double({ min: 0.001, max: 1, noNaN: true })
    const holds = fc.property(policyOf(kind), share, (policy, share) => {
      const own = localShare(policy, share)
      const [most, ownMost] = [policy, own].map((each) => ("limit" in each ? each.limit : each.capacity))
      expect(ownMost).toBeLessThanOrEqual(Math.max((most as number) * share, 1))
      // No policy is slower than one unit in ten years.
      if (!("every" in policy) || !("every" in own) || own.every === LONGEST_MS) return
      const rate = (each: typeof policy) => ("refill" in each ? each.refill : each.leak) / each.every
      expect(rate(own as typeof policy)).toBeLessThanOrEqual(rate(policy) * share * 1.000_001)
    })
    fc.assert(holds, { seed: 12, numRuns: 2_000 })
  })
})
