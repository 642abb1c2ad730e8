import { strict as assert } from "node:assert"
import type { Limiter } from "../../limiter.js"
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../policy.js"
import type { ManualClock } from "../manual-clock.js"
import { type ConformanceCase, forEachSubject, limiterOn, passed } from "./rig.js"

const hour = 3_600_000

/** Rates where a rounded interval would be wrong: units, and their milliseconds. */
const awkward: readonly (readonly [units: number, ms: number])[] = [
  [1_234_567, 86_400_000],
  [999_983, 30 * 86_400_000],
  [10_000_000, 1_000],
  [700_000, 1_000],
  [3, 7],
  [16, 10_000],
]

/** Advances the clock until a request passes. Returns the milliseconds that took. */
async function lockedOutFor(
  limiter: Limiter,
  key: string,
  clock: ManualClock,
  step: number,
): Promise<number> {
  for (let waited = 0; waited <= 4_000; waited += step) {
    if ((await limiter.tryAcquire(key)).allowed) return waited
    clock.advance(step)
  }
  return Number.POSITIVE_INFINITY
}

/** Laws 3, 4, 5 and 6, for time. */
export const time: readonly ConformanceCase[] = [
  ...[1, 3, 10].flatMap((cost) =>
    forEachSubject(
      3,
      `retryAfter is exact to the millisecond for a cost of ${cost}`,
      async ({ clock }, limiter, { period }) => {
        for (const [spent, later] of [
          [4, 0.13],
          [3, 0.07],
          [2, 0.2],
          [1, 0.01],
        ] as const) {
          assert.equal(await passed(limiter, "k", 1, spent), 1)
          clock.advance(Math.floor(later * period) + 3)
        }
        // Spend what has come back meanwhile, too.
        while ((await limiter.tryAcquire("k")).allowed);
        const { retryAfter, allowed } = await limiter.tryAcquire("k", { cost })
        assert.equal(allowed, false)
        assert.ok(retryAfter >= 1 && retryAfter <= period, `retryAfter is ${retryAfter}`)
        clock.advance(retryAfter - 1)
        assert.equal(await passed(limiter, "k", 1, cost), 0)
        clock.advance(1)
        assert.equal(await passed(limiter, "k", 1, cost), 1)
      },
    ),
  ),

  ...forEachSubject(
    3,
    "a cost beyond the limit never passes, with an infinite retryAfter",
    async (_rig, limiter) => {
      for (const cost of [11, 1_000_000, Number.MAX_SAFE_INTEGER]) {
        const { allowed, retryAfter, remaining } = await limiter.tryAcquire("k", { cost })
        assert.deepEqual([allowed, retryAfter, remaining], [false, Number.POSITIVE_INFINITY, 10])
      }
    },
  ),

  ...forEachSubject(3, "resetAfter is the time until nothing is spent", async ({ clock }, limiter) => {
    assert.equal((await limiter.peek("k")).resetAfter, 0)
    assert.equal(await passed(limiter, "k", 1, 7), 1)
    const { resetAfter } = await limiter.peek("k", { cost: 10 })
    clock.advance(resetAfter - 1)
    assert.equal((await limiter.peek("k", { cost: 10 })).allowed, false)
    clock.advance(1)
    assert.equal((await limiter.peek("k", { cost: 10 })).allowed, true)
  }),

  ...forEachSubject(
    4,
    "a clock that steps back an hour grants nothing and locks no key out",
    async ({ clock }, limiter, { period }) => {
      assert.equal(await passed(limiter, "k", 10), 10)
      clock.advance(-hour)
      assert.equal(await passed(limiter, "k", 3), 0)
      assert.ok((await lockedOutFor(limiter, "k", clock, period / 20)) <= period)
      clock.advance(hour)
      assert.equal(await passed(limiter, "k", 10), 10)
    },
  ),

  ...forEachSubject(
    4,
    "a clock that jumps an hour ahead and back locks no key out",
    async ({ clock }, limiter, { period }) => {
      assert.equal(await passed(limiter, "k", 10), 10)
      clock.advance(hour)
      assert.equal(await passed(limiter, "k", 10), 10)
      clock.advance(-hour)
      assert.equal(await passed(limiter, "k", 3), 0)
      assert.ok((await lockedOutFor(limiter, "k", clock, period / 20)) <= period)
    },
  ),

  ...forEachSubject(
    4,
    "a clock that steps back a little grants nothing for it",
    async ({ clock }, limiter, { period }) => {
      assert.equal(await passed(limiter, "k", 6), 6)
      clock.advance(-period / 4)
      const early = await passed(limiter, "k", 10)
      assert.ok(early <= 4)
      clock.advance(period / 4)
      assert.equal(early + (await passed(limiter, "k", 10)), 4)
    },
  ),

  ...forEachSubject(
    4,
    "small clock skew between processes grants nothing extra",
    async ({ clock }, limiter) => {
      clock.advance(100)
      let granted = 0
      for (let i = 0; i < 60; i += 1) {
        clock.advance(i % 2 === 0 ? -3 : 3)
        granted += await passed(limiter, "k", 1)
      }
      assert.equal(granted, 10)
    },
  ),

  ...forEachSubject(4, "the store uses the clock it was given", async ({ clock }, limiter, { period }) => {
    assert.equal(await passed(limiter, "k", 12), 10)
    clock.advance(2 * period)
    assert.equal(await passed(limiter, "k", 12), 10)
  }),

  ...awkward.flatMap(([units, ms]) =>
    (
      [
        ["fixedWindow", fixedWindow({ limit: units, window: ms })],
        ["slidingLog", slidingLog({ limit: units, window: ms })],
        ["slidingWindow", slidingWindow({ limit: units, window: ms })],
        ["tokenBucket", tokenBucket({ capacity: units, refill: units, every: ms })],
        [
          "tokenBucket by intervals",
          tokenBucket({ capacity: units, refill: units, every: ms, mode: "interval" }),
        ],
        ["leakyBucket", leakyBucket({ capacity: units, leak: units, every: ms })],
      ] as const
    ).map(([label, policy]: readonly [string, Policy]) => ({
      law: 5,
      name: `${units} in ${ms} ms is exact (${label})`,
      async run(rig: Parameters<ConformanceCase["run"]>[0]) {
        await using limiter = limiterOn(rig, policy)
        const drips = label === "tokenBucket" || label === "leakyBucket"
        assert.equal((await limiter.tryAcquire("k", { cost: units - 1 })).remaining, 1)
        assert.equal((await limiter.tryAcquire("k")).remaining, 0)
        let elapsed = 0
        for (const moment of [ms / 7, ms / 3, ms / 2].map(Math.floor)) {
          rig.clock.advance(moment - elapsed)
          elapsed = moment
          const back = drips ? Number((BigInt(units) * BigInt(elapsed)) / BigInt(ms)) : 0
          assert.equal((await limiter.peek("k")).remaining, back)
        }
        rig.clock.advance(ms - 1 - elapsed)
        assert.equal((await limiter.peek("k", { cost: units })).allowed, false)
        rig.clock.advance(1)
        assert.equal((await limiter.peek("k", { cost: units })).allowed, true)
      },
    })),
  ),
  {
    law: 5,
    name: "a thousand small grants add up without drift",
    async run(rig) {
      await using limiter = limiterOn(rig, tokenBucket({ capacity: 1_000, refill: 1_234_567, every: "1d" }))
      assert.equal(await passed(limiter, "k", 1, 1_000), 1)
      let taken = 0
      for (let ms = 500; ms <= 500_000; ms += 500) {
        rig.clock.advance(500)
        while ((await limiter.tryAcquire("k")).allowed) taken += 1
        assert.equal(taken, Number((1_234_567n * BigInt(ms)) / 86_400_000n))
      }
    },
  },

  ...forEachSubject(
    6,
    "every key expires soon after its state is empty",
    async (rig, limiter, { period }) => {
      const expires = async () => {
        const { policies, resetAfter } = await limiter.peek("k")
        const longest = Math.max(...(policies ?? [{ resetAfter }]).map((policy) => policy.resetAfter))
        const expiry = await rig.expiry?.()
        assert.ok(expiry !== undefined)
        for (const left of expiry.left.values()) {
          assert.ok(
            left > 0 && left <= Math.max(longest, period) + 1_000 + expiry.slack,
            `kept for ${left} ms`,
          )
        }
        return expiry.left.size
      }
      for (const spent of [1, 2, 7]) {
        assert.equal(await passed(limiter, "k", 1, spent), 1)
        assert.ok((await expires()) > 0)
      }
      await limiter.refund("k", 4)
      await expires()
      rig.clock.advance(-hour)
      await passed(limiter, "k", 1)
      await expires()
    },
    "expiry",
  ),
]
