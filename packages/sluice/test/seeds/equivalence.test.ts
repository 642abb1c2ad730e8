import fc from "fast-check"
import {
  type Decision,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { type ManualClock, manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { type Rig, stores, useRig } from "./rig.js"

// The documents' scripts, as they were written, on a real server beside Sluice, under the same random
// traffic and the same clock. Each case says what the script answers and what a decision makes of it. Times
// are chosen so that a double holds every fraction a script computes; differences*.test.ts has the rest.
interface Case {
  readonly script: string
  readonly policy: Policy
  /** Where the clock starts, and the waits between asks, in milliseconds. */
  readonly start?: number
  readonly waits: fc.Arbitrary<number>
  readonly mostCost?: number
  /** Asks the script; `nth` numbers the asks. */
  theirs(rig: Rig, clock: ManualClock, key: string, cost: number, nth: number): Promise<unknown>
  ours(decision: Decision): unknown
}

const seconds = (clock: ManualClock) => clock() / 1_000
const passed = ({ allowed }: Decision) => (allowed ? 1 : 0)
const triple = ({ allowed, remaining, retryAfter }: Decision) => [allowed ? 1 : 0, remaining, retryAfter]
const inBursts = (waits: fc.Arbitrary<number>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: waits })
const upTo = (ms: number) => inBursts(fc.integer({ min: 1, max: ms }))
const multiples = (ms: number, most: number) => inBursts(fc.integer({ min: 1, max: most }).map((n) => n * ms))

const cases: Case[] = [
  {
    script: "000-fixed-window",
    policy: fixedWindow({ limit: 5, window: "3s" }),
    waits: upTo(2_000),
    theirs: (rig, clock, key) => rig.run("000-fixed-window", clock, [key], 5, 3),
    ours: passed,
  },
  {
    // asked in the last second of each bucket, where its start and its newest unit leave together
    script: "000-sliding-window",
    policy: slidingWindow({ limit: 7, window: "60s", buckets: 30 }),
    start: 1_662_365_045_000,
    waits: multiples(2_000, 8),
    theirs: (rig, clock, key) => rig.run("000-sliding-window", clock, [key], 7, 60, seconds(clock), 30),
    ours: passed,
  },
  {
    script: "000-token-bucket",
    policy: tokenBucket({ capacity: 6, refill: 4, every: "1s" }),
    waits: multiples(125, 8),
    theirs: (rig, clock, key) => rig.run("000-token-bucket", clock, [key], 6, 4, seconds(clock)),
    ours: passed,
  },
  {
    // whole units leak between asks: on a fraction the script admits one too many
    script: "000-leaky-bucket",
    policy: leakyBucket({ capacity: 6, leak: 8, every: "1s" }),
    waits: multiples(125, 4),
    theirs: (rig, clock, key) => rig.run("000-leaky-bucket", clock, [key], 6, 8, seconds(clock)),
    ours: passed,
  },
  {
    script: "001-counter",
    policy: fixedWindow({ limit: 4, window: "2s" }),
    waits: upTo(1_500),
    theirs: (rig, clock, key) => rig.run("001-counter", clock, [key], 4, 2),
    ours: ({ allowed, limit, remaining }) => (allowed ? limit - remaining : -1),
  },
  {
    script: "001-leaky-bucket",
    policy: fixedWindow({ limit: 3, window: "1s", align: "clock" }),
    start: 1_662_365_045_123,
    waits: upTo(700),
    theirs: (rig, clock, key) =>
      rig.run("001-leaky-bucket", clock, [`${key}:${Math.floor(seconds(clock))}`], 3),
    ours: passed,
  },
  {
    script: "001-ip-limit",
    policy: fixedWindow({ limit: 4, window: "2s" }),
    waits: upTo(1_500),
    theirs: (rig, clock, key) => rig.run("001-ip-limit", clock, [key], 4, 2),
    ours: passed,
  },
  {
    script: "001-token-bucket",
    policy: tokenBucket({ capacity: 5, refill: 2, every: "4s", mode: "interval" }),
    waits: fc.oneof(
      { weight: 19, arbitrary: multiples(1_000, 8) },
      { weight: 1, arbitrary: fc.constantFrom(9_000, 10_000, 11_000, 12_000, 13_000, 60_000) },
    ),
    theirs: (rig, clock, key) => rig.run("001-token-bucket", clock, [key], 5, 2, 4, seconds(clock)),
    ours: ({ allowed, remaining }) => (allowed ? remaining : -1),
  },
  {
    // the wait is left out: the script's is an estimate
    script: "002-redisson",
    policy: slidingLog({ limit: 10, window: "1s" }),
    waits: upTo(700),
    mostCost: 10,
    async theirs(rig, clock, key, cost, nth) {
      await rig.client.hset(key, { rate: 10, interval: 1_000, type: 0 })
      const keys = ["value", "value:client", "permits", "permits:client"].map((name) => `${key}:${name}`)
      return (await rig.run("002-redisson", clock, [key, ...keys], cost, clock(), `${nth}`)) === null ? 1 : 0
    },
    ours: passed,
  },
  {
    script: "003-sliding-window",
    policy: slidingLog({ limit: 5, window: "1s" }),
    waits: upTo(500),
    theirs: (rig, clock, key, _, nth) => rig.run("003-sliding-window", clock, [key], 1_000, 5, nth),
    ours: triple,
  },
  {
    script: "003-token-bucket",
    policy: tokenBucket({ capacity: 6, refill: 4, every: "1s" }),
    waits: multiples(125, 8),
    mostCost: 6,
    theirs: (rig, clock, key, cost) => rig.run("003-token-bucket", clock, [key], 6, 4, cost),
    ours: triple,
  },
  {
    script: "003-leaky-bucket",
    policy: leakyBucket({ capacity: 6, leak: 4, every: "1s" }),
    waits: multiples(125, 8),
    mostCost: 6,
    theirs: (rig, clock, key, cost) => rig.run("003-leaky-bucket", clock, [key], 6, 4, cost),
    ours: triple,
  },
  {
    script: "004-token-bucket",
    policy: tokenBucket({ capacity: 6, refill: 1, every: "2s" }),
    waits: multiples(1_000, 4),
    mostCost: 6,
    theirs: (rig, clock, key, cost) =>
      rig.run("004-token-bucket", clock, [key], 6, 0.5, seconds(clock), cost),
    ours: passed,
  },
  {
    script: "004-leaky-bucket",
    policy: leakyBucket({ capacity: 6, leak: 1, every: "2s" }),
    waits: multiples(1_000, 4),
    theirs: (rig, clock, key) => rig.run("004-leaky-bucket", clock, [key], 6, 0.5, seconds(clock)),
    ours: passed,
  },
  {
    // a class of four commands rather than a script: one counter per ten seconds of the clock
    script: "004-fixed-window",
    policy: fixedWindow({ limit: 16, window: "10s", align: "clock" }),
    start: Date.parse("2025-03-15T00:17:11+08:00"),
    waits: upTo(900),
    theirs: async (rig, clock, key) =>
      (await rig.client.incr(`${key}_${Math.floor(seconds(clock) / 10)}`)) > 16 ? 0 : 1,
    ours: passed,
  },
]

const rig = useRig()
let keys = 0

describe.each(stores)("the documents' scripts and the %s store", (store) => {
  test.each(cases)("$script answers as Sluice does, ask by ask", async (one) => {
    const requests = fc.record({ wait: one.waits, cost: fc.integer({ min: 1, max: one.mostCost ?? 1 }) })
    const outcomes = { passed: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(requests, { minLength: 20, maxLength: 60, size: "max" }), async (traffic) => {
        const clock = manualClock(one.start)
        const limiter = rig.limiter(store, one.policy, clock)
        keys += 1
        for (const [nth, { wait, cost }] of traffic.entries()) {
          clock.advance(wait)
          const theirs = await one.theirs(rig, clock, `traffic-${keys}`, cost, nth)
          const decision = await limiter.tryAcquire("key", { cost })
          expect(one.ours(decision)).toEqual(theirs)
          outcomes[decision.allowed ? "passed" : "refused"] += 1
        }
      }),
      { numRuns: 40 },
    )
    // or the traffic would have asked nothing
    expect(Math.min(outcomes.passed, outcomes.refused)).toBeGreaterThan(50)
  })
})
