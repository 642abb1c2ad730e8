import { strict as assert } from "node:assert"
import { SluiceError } from "../../errors.js"
import { fixedWindow, slidingLog, tokenBucket } from "../../policy.js"
import { policyRef } from "../../state-key.js"
import { type ConformanceCase, forEachSubject, limiterOn, passed } from "./rig.js"

const threePolicies = {
  requests: fixedWindow({ limit: 10, window: "1m" }),
  tokens: tokenBucket({ capacity: 1_000, refill: 100, every: "1s" }),
  uploads: slidingLog({ limit: 3, window: "10s" }),
}

/** Laws 1, 2, 8 and 9, for the units that a request spends. */
export const spending: readonly ConformanceCase[] = [
  ...forEachSubject(1, "a denial has no effect on later requests", async ({ clock }, limiter, { period }) => {
    for (const key of ["denied", "spared"]) assert.equal(await passed(limiter, key, 3, 2), 3)
    clock.advance(period / 20)
    for (const cost of [5, 10, 11, 1_000_000]) assert.equal(await passed(limiter, "denied", 2, cost), 0)
    for (let i = 0; i < 25; i += 1) {
      for (const cost of [1, 5, 10]) {
        assert.deepEqual(await limiter.peek("denied", { cost }), await limiter.peek("spared", { cost }))
      }
      clock.advance(period / 20)
    }
  }),

  ...forEachSubject(
    1,
    "a denial and an inspection write nothing, not even an expiry",
    async (rig, limiter) => {
      assert.equal(await passed(limiter, "k", 10), 10)
      rig.clock.advance(10)
      const before = await rig.snapshot?.()
      for (const cost of [1, 7, 11, Number.MAX_SAFE_INTEGER])
        assert.equal(await passed(limiter, "k", 2, cost), 0)
      assert.equal(await passed(limiter, "fresh", 1, 11), 0)
      for (const key of ["k", "fresh"]) await limiter.inspect(key)
      assert.deepEqual(await rig.snapshot?.(), before)
    },
    "snapshot",
  ),

  ...forEachSubject(
    1,
    "a peek changes nothing and predicts the decision",
    async ({ clock }, limiter, { period }) => {
      assert.equal(await passed(limiter, "k", 2, 3), 2)
      clock.advance(period / 8)
      const first = await limiter.peek("k", { cost: 4 })
      assert.deepEqual(await limiter.peek("k", { cost: 4 }), first)
      await limiter.inspect("k")
      assert.deepEqual(await limiter.peek("k", { cost: 4 }), first)
      const asked = await limiter.tryAcquire("k", { cost: 4 })
      assert.equal(asked.allowed, first.allowed)
      assert.equal(asked.remaining, first.remaining - 4)
      const denied = await limiter.peek("k", { cost: 10 })
      assert.deepEqual(await limiter.tryAcquire("k", { cost: 10 }), denied)
      assert.equal(denied.allowed, false)
    },
  ),

  {
    law: 2,
    name: "several policies are charged all or nothing, each with its own cost",
    async run(rig) {
      await using limiter = limiterOn(rig, threePolicies)
      const cost = { requests: 2, tokens: 150 }
      for (let i = 1; i <= 3; i += 1) {
        const { allowed, policies } = await limiter.tryAcquire("k", { cost })
        assert.equal(allowed, true)
        assert.deepEqual(
          policies?.map(({ remaining }) => remaining),
          [10 - 2 * i, 1_000 - 150 * i, 3 - i],
        )
      }
      const denied = await limiter.tryAcquire("k", { cost })
      assert.deepEqual([denied.allowed, denied.policy, denied.retryAfter], [false, "uploads", 10_000])
      assert.deepEqual(
        denied.policies?.map(({ remaining }) => remaining),
        [4, 550, 0],
      )
      const skipping = await limiter.tryAcquire("k", { cost: { requests: 1, tokens: 500, uploads: 0 } })
      assert.deepEqual(
        skipping.policies?.map(({ policy, remaining }) => [policy, remaining]),
        [
          ["requests", 3],
          ["tokens", 50],
        ],
      )
      const never = await limiter.tryAcquire("k", { cost: { requests: 3, tokens: 1_001, uploads: 0 } })
      assert.deepEqual(
        [never.allowed, never.policy, never.retryAfter],
        [false, "tokens", Number.POSITIVE_INFINITY],
      )
      assert.equal(
        (await limiter.tryAcquire("k", { cost: { requests: 3, tokens: 0, uploads: 0 } })).allowed,
        true,
      )
    },
  },
  {
    law: 2,
    name: "of several requests at once, the policy with the least room decides how many pass",
    async run({ stores: [store] }) {
      const policies = Object.values(threePolicies).map((policy, i) => ({
        ref: policyRef("count", `${i}`),
        key: "k",
        policy,
        cost: 1,
      }))
      assert.equal((await store.decide({ policies, count: 2, mode: "spend" })).granted, 2)
      assert.equal((await store.decide({ policies, count: 7, mode: "peek" })).granted, 1)
      assert.equal((await store.decide({ policies, count: 7, mode: "spend" })).granted, 1)
      assert.equal((await store.decide({ policies, count: 7, mode: "spend" })).granted, 0)
      const requests = await store.decide({ policies: policies.slice(0, 1), count: 99, mode: "spend" })
      assert.equal(requests.granted, 7)
    },
  },

  ...forEachSubject(8, "every allowed request is spent once", async (_rig, limiter) => {
    for (let left = 9; left >= 0; left -= 1) {
      const decision = await limiter.tryAcquire("k")
      assert.deepEqual([decision.allowed, decision.limit, decision.remaining], [true, 10, left])
    }
    assert.equal((await limiter.tryAcquire("k")).allowed, false)
  }),

  ...forEachSubject(
    8,
    "50 concurrent requests over all connections get exactly the limit",
    async (rig, _limiter, _subject, policy) => {
      const limiters = rig.stores.map((_store, i) => limiterOn(rig, policy, "conformance", i))
      const requests = Array.from({ length: 50 }, (_, i) => limiters[i % limiters.length]?.tryAcquire("k"))
      const decisions = await Promise.all(requests)
      assert.equal(decisions.filter((decision) => decision?.allowed).length, 10)
      await Promise.all(limiters.map((limiter) => limiter.close()))
    },
  ),

  ...forEachSubject(9, "a denial is a value, and misuse is an error with a code", async (_rig, limiter) => {
    assert.equal(await passed(limiter, "k", 12), 10)
    const code = (expected: string) => (error: unknown) =>
      error instanceof SluiceError && error.code === expected
    for (const cost of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      await assert.rejects(limiter.tryAcquire("k", { cost }), code("INVALID_COST"))
    }
    await assert.rejects(limiter.tryAcquire(""), code("INVALID_KEY"))
    await limiter.close()
    await assert.rejects(limiter.tryAcquire("k"), code("CLOSED"))
  }),
]
