import { strict as assert } from "node:assert"
import { policyOfEach } from "../../algorithms/policy-of-each.js"
import type { Decision } from "../../decision.js"
import { fixedWindow, leakyBucket, type Policy, tokenBucket } from "../../policy.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import {
  type ConformanceCase,
  forEachSubject,
  limiterOn,
  passed,
  type Rig,
  sequence,
  subjects,
} from "./rig.js"

/** Limiters and keys that a careless encoding would mix up. */
const hostile: readonly (readonly [name: string, key: string])[] = [
  ["n", "a"],
  ["n", "A"],
  ["n", "a:default"],
  ["n:a", "default"],
  ["n", "a}"],
  ["n", "{a}"],
  ["n}", "a"],
  ["{n}", "{a}"],
  ["n", "%7ba%7d"],
  ["n", ":"],
  ["n", "%3a"],
  ["n", "\u0000"],
  ["n", "\u0000\u0000"],
  ["n", "%00"],
  ["n", "\n"],
  ["n", "\r\n"],
  ["n", " "],
  ["n", "\ud800"],
  ["n", "\udfff"],
  ["n", "\ufffd"],
  ["n", "%ud800"],
  ["n", "\ud83d\ude00"],
  ["n", "用户:42"],
  ["n", "__proto__"],
  ["n", "constructor"],
  ["n", "x".repeat(10_000)],
  ["n", `${"x".repeat(9_999)}y`],
  ["n", "\ud800".repeat(10_000)],
  ["n", "*"],
]

function withLimit(policy: Policy, limit: number): Policy {
  return "capacity" in policy ? { ...policy, capacity: limit } : { ...policy, limit }
}

const oneOfEach = policyOfEach(10, 1_000)

/** Compares two decisions. A denial from the deny cache may report less remaining, because it is not updated. */
function sameDecision(received: Decision, expected: Decision): void {
  if (received.source === "cache") {
    assert.equal(received.allowed, false)
    for (const [i, { remaining }] of (received.policies ?? [received]).entries()) {
      assert.ok(remaining <= ((expected.policies ?? [expected])[i]?.remaining ?? 0))
    }
  }
  const known = ({ source, remaining, policies, ...rest }: Decision) => ({
    ...rest,
    remaining: received.source === "cache" ? 0 : remaining,
    policies: policies?.map((each) => (received.source === "cache" ? { ...each, remaining: 0 } : each)),
  })
  assert.deepEqual(known(received), known(expected))
}

/** Laws 7, 10, 11, 12 and 13, for the stored state. */
export const state: readonly ConformanceCase[] = [
  ...forEachSubject(
    7,
    "the store decides like the memory store on a random history",
    async (rig, limiter, { period }, policy) => {
      const reference = limiterOn({ clock: rig.clock, stores: [memoryStore({ clock: rig.clock })] }, policy)
      const random = sequence(period + limiter.name.length)
      for (let i = 0; i < 150; i += 1) {
        rig.clock.advance(Math.floor(random() ** 3 * period))
        const [key, cost] = [random() < 0.5 ? "a" : "b", 1 + Math.floor(random() ** 2 * 11)]
        if (random() < 0.1) await Promise.all([limiter.refund(key, cost), reference.refund(key, cost)])
        sameDecision(await limiter.tryAcquire(key, { cost }), await reference.tryAcquire(key, { cost }))
        assert.deepEqual(await limiter.peek(key), await reference.peek(key))
      }
    },
  ),

  {
    law: 10,
    name: "no two keys share state, whatever characters they contain",
    async run(rig) {
      const policy = fixedWindow({ limit: hostile.length + 1, window: "1m" })
      for (const [i, [name, key]] of hostile.entries()) {
        await using limiter = limiterOn(rig, policy, name)
        assert.equal(
          (await limiter.tryAcquire(key, { cost: i + 1 })).remaining,
          hostile.length - i,
          `${name} ${i}`,
        )
      }
      for (const [i, [name, key]] of hostile.entries()) {
        await using limiter = limiterOn(rig, policy, name)
        assert.equal((await limiter.peek(key)).remaining, hostile.length - i, `${name} ${i}`)
      }
    },
  },
  {
    law: 10,
    name: "no two policies of a limiter share state, whatever their names",
    async run(rig) {
      const names = ["a", "b", "a:fw", "a}", "__proto__", "constructor", "\ud800", "\ud801"]
      const policy = Object.fromEntries(names.map((name) => [name, fixedWindow({ limit: 10, window: "1m" })]))
      await using limiter = limiterOn(rig, policy)
      const costs = Object.fromEntries(names.map((name, i) => [name, i + 1]))
      const { policies } = await limiter.tryAcquire("k", { cost: costs })
      assert.deepEqual(
        policies?.map((entry) => entry.remaining),
        names.map((_name, i) => 9 - i),
      )
      assert.deepEqual(
        (await limiter.peek("k")).policies?.map((entry) => entry.remaining),
        names.map((_name, i) => 9 - i),
      )
    },
  },

  ...forEachSubject(
    11,
    "no span of one period admits more than the policy allows",
    async ({ clock }, limiter, { period, policy }) => {
      const bound = policy.algorithm.startsWith("sliding")
        ? 10
        : policy.algorithm === "tokenBucket" && policy.mode === "interval"
          ? 10 + 3 * 4
          : 20
      const random = sequence(period)
      const grants: { at: number; cost: number }[] = []
      for (let i = 0; i < 250; i += 1) {
        clock.advance(random() < 0.5 ? 0 : Math.floor(random() ** 2 * period * 0.3))
        const cost = 1 + Math.floor(random() ** 4 * 10)
        if ((await limiter.tryAcquire("k", { cost })).allowed) grants.push({ at: clock(), cost })
      }
      for (const { at } of grants) {
        const within = grants.filter((grant) => grant.at >= at && grant.at < at + period)
        const admitted = within.reduce((sum, { cost }) => sum + cost, 0)
        assert.ok(admitted <= bound, `${admitted} admitted within ${period} ms`)
      }
    },
  ),

  ...subjects.map(({ label, policy, inTime }) => ({
    law: 12,
    name: `spent units stay spent under another limit (${label})`,
    async run(rig: Rig) {
      await using limiter = limiterOn(rig, policy)
      assert.equal((await limiter.tryAcquire("k", { cost: 6 })).remaining, 4)
      assert.equal((await limiter.peek("k", { policy: withLimit(policy, 20) })).remaining, 14)
      const tight = await limiter.tryAcquire("k", { policy: withLimit(policy, 5) })
      assert.deepEqual([tight.allowed, tight.remaining, tight.limit], [false, 0, 5])
      assert.equal((await limiter.peek("k")).remaining, 4)
      if (inTime && policy.algorithm === "tokenBucket") {
        const faster = { ...policy, capacity: 20, refill: policy.refill * 2 }
        assert.equal((await limiter.peek("k", { policy: faster })).remaining, 8)
      }
    },
  })),
  ...subjects.map(({ label, policy, period }) => ({
    law: 12,
    name: `alternating with a smaller policy forgets nothing (${label})`,
    async run(rig: Rig) {
      await using limiter = limiterOn(rig, policy)
      const small = quicker(policy)
      assert.equal(await passed(limiter, "k", 10), 10)
      for (let elapsed = 0; elapsed < period * 0.05; elapsed += period / 200) {
        await limiter.tryAcquire("k", { policy: small })
        assert.equal((await limiter.tryAcquire("k")).allowed, false)
        rig.clock.advance(period / 200)
      }
    },
  })),
  {
    law: 12,
    name: "another algorithm starts with its own state, and both continue",
    async run(rig) {
      await using limiter = limiterOn(rig, oneOfEach[0] as Policy)
      for (let round = 0; round < 3; round += 1) {
        for (const policy of oneOfEach) {
          assert.equal((await limiter.tryAcquire("k", { policy, cost: 3 })).remaining, 7 - 3 * round)
        }
      }
      for (const policy of oneOfEach)
        assert.equal((await limiter.tryAcquire("k", { policy, cost: 3 })).allowed, false)
    },
  },

  ...forEachSubject(
    13,
    "a refund gives back at most what was spent",
    async ({ clock }, limiter, { period }) => {
      assert.equal(await passed(limiter, "k", 12), 10)
      await limiter.refund("k", 3)
      assert.equal((await limiter.peek("k")).remaining, 3)
      assert.equal(await passed(limiter, "k", 12), 3)
      await limiter.refund("k", 1_000)
      assert.equal((await limiter.peek("k")).remaining, 10)
      assert.equal(await passed(limiter, "k", 12), 10)
      clock.advance(period)
      await limiter.refund("k", 5)
      assert.equal(await passed(limiter, "k", 12), 10)
      await limiter.refund("unknown", 5)
      assert.equal(await passed(limiter, "unknown", 12), 10)
    },
  ),

  ...forEachSubject(13, "a reset clears one key only", async (_rig, limiter) => {
    for (const key of ["a", "b"]) assert.equal(await passed(limiter, key, 1, 6), 1)
    await limiter.reset("a")
    assert.equal((await limiter.peek("a")).remaining, 10)
    assert.equal((await limiter.peek("b")).remaining, 4)
    await limiter.reset("unknown")
  }),
]

/** A policy of the same algorithm over a much shorter time. */
function quicker(policy: Policy): Policy {
  if ("window" in policy) return { ...policy, limit: 11, window: 10 }
  return policy.algorithm === "tokenBucket"
    ? tokenBucket({ capacity: 1, refill: 1, every: 10 })
    : leakyBucket({ capacity: 1, leak: 1, every: 10 })
}
