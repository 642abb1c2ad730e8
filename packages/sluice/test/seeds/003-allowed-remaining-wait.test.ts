import { type Decision, leakyBucket, slidingLog, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { stores, useRig } from "./rig.js"

// Document 003: three scripts that all answer {allowed, remaining, wait in ms}.
const rig = useRig()

const triple = ({ allowed, remaining, retryAfter }: Decision) => [allowed ? 1 : 0, remaining, retryAfter]

type Row = [afterMs: number, permits: number, answer: [allowed: 0 | 1, remaining: number, wait: number]]

const window: Row[] = [
  [0, 1, [1, 2, 0]],
  [100, 1, [1, 1, 0]],
  [100, 1, [1, 0, 0]],
  [0, 1, [0, 0, 800]],
  [799, 1, [0, 0, 1]],
  [1, 1, [1, 0, 0]],
  [0, 1, [0, 0, 100]],
]

// the leaky bucket answers as the token bucket does: what is water in one is a missing token in the other
const bucket: Row[] = [
  [0, 4, [1, 6, 0]],
  [0, 4, [1, 2, 0]],
  [0, 4, [0, 2, 400]],
  [250, 4, [0, 3, 150]],
  [150, 4, [1, 0, 0]],
  [0, 1, [0, 0, 200]],
  [60_000, 10, [1, 0, 0]],
]

describe.each(stores)("003 on the %s store", (store) => {
  test.each([
    ["003-sliding-window", slidingLog({ limit: 3, window: "1s" }), window],
    ["003-token-bucket", tokenBucket({ capacity: 10, refill: 5, every: "1s" }), bucket],
    ["003-leaky-bucket", leakyBucket({ capacity: 10, leak: 5, every: "1s" }), bucket],
  ])("%s: the decision holds the three numbers of the script", async (script, policy, rows) => {
    const clock = manualClock()
    const limiter = rig.limiter(store, policy, clock)
    for (const [index, [afterMs, permits, reply]] of rows.entries()) {
      clock.advance(afterMs)
      const args = script === "003-sliding-window" ? [1_000, 3, `request-${index}`] : [10, 5, permits]
      expect(await rig.run(script, clock, [`${script}-${store}`], ...args)).toEqual(reply)
      expect(triple(await limiter.tryAcquire("user", { cost: permits }))).toEqual(reply)
    }
  })
})
