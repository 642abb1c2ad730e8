import { strict as assert } from "node:assert"
import type { Store } from "../../store.js"
import { type ConformanceCase, forEachSubject, limiterOn, passed } from "./rig.js"
import { fill, isQueue, sameFromNowOn, storeDriver, untilTurn } from "./store-driver.js"

/** Laws 6 and 13, for turns that are given back and for reservations. */
export const givenBack: readonly ConformanceCase[] = [
  ...forEachSubject(
    13,
    "turns given back before they come leave nothing spent, in any order",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      for (const key of ["k", "spared"]) await fill(driver, subject, key)
      rig.clock.advance(3)
      const [a, b, c] = [await driver.book(1), await driver.book(1), await driver.book(1)]
      for (const turn of [b, a, c]) await driver.leave(turn)
      await sameFromNowOn(rig, driver, ["k", "spared"], subject.period)
    },
  ),

  ...forEachSubject(
    13,
    "the last turn, given back, is free for the next booking",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      await fill(driver, subject)
      const first = await driver.book(1)
      const cost = isQueue(subject) ? 2 : 9
      const left = await driver.book(cost)
      await driver.leave(left)
      const next = await driver.book(cost)
      assert.equal(next.at, left.at)
      assert.ok(next.at >= first.at)
    },
  ),

  ...forEachSubject(
    13,
    "a turn given back between others goes to the next booking of its cost, once",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      const cost = isQueue(subject) ? 1 : 6
      await fill(driver, subject)
      const [, second, third] = [await driver.book(cost), await driver.book(cost), await driver.book(cost)]
      await driver.leave(second)
      assert.equal((await driver.book(cost)).at, second.at)
      const { granted, turn } = await driver.tryBook(cost)
      if (granted === 1) assert.ok((turn as number) > third.at)
      else assert.ok(isQueue(subject))
    },
  ),

  ...forEachSubject(
    13,
    "a turn that has come can be given back while it counts, and never after",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      const [used, unused] = [await driver.book(9), await driver.book(1, "other")]
      await driver.leave(used)
      assert.equal((await driver.request("peek", 10)).allowed, true)
      rig.clock.advance(subject.period)
      assert.equal((await driver.request("spend", 10, "other")).allowed, true)
      await driver.leave(unused)
      assert.equal((await driver.request("spend", 1, "other")).allowed, false)
    },
  ),

  ...forEachSubject(
    13,
    "a reservation is settled once, by any store over the same state",
    async (rig, limiter, _subject, policy) => {
      await using elsewhere = limiterOn(rig, policy, "conformance", 1)
      const { decision, id, settle, cancel } = await limiter.reserve("k", { cost: 6 })
      assert.deepEqual([decision.allowed, decision.remaining], [true, 4])
      assert.equal(await elsewhere.reservation("k", id).settle(2), true)
      assert.equal((await limiter.peek("k")).remaining, 8)
      assert.deepEqual([await settle(6), await settle(0), await cancel()], [false, false, false])
      assert.equal(await elsewhere.reservation("k", id).cancel(), false)
      assert.equal((await limiter.peek("k")).remaining, 8)
    },
  ),

  ...forEachSubject(13, "a cancelled reservation costs nothing", async (_rig, limiter) => {
    assert.equal(await passed(limiter, "k", 1, 3), 1)
    const { cancel } = await limiter.reserve("k", { cost: 7 })
    assert.equal((await limiter.tryAcquire("k")).allowed, false)
    assert.equal(await cancel(), true)
    assert.equal((await limiter.peek("k")).remaining, 7)
    assert.equal(await passed(limiter, "k", 12), 7)
  }),

  ...forEachSubject(13, "settling above the estimate charges the difference", async (_rig, limiter) => {
    const { settle } = await limiter.reserve("k", { cost: 2 })
    assert.equal(await settle(9), true)
    assert.equal((await limiter.peek("k")).remaining, 1)
    const more = await limiter.reserve("k", { cost: 1 })
    assert.equal(await more.settle(8), true)
    const { allowed, remaining, retryAfter } = await limiter.tryAcquire("k")
    assert.deepEqual([allowed, remaining], [false, 0])
    assert.ok(retryAfter > 0)
  }),

  ...forEachSubject(
    13,
    "a reservation gives nothing back once its debit no longer counts",
    async ({ clock }, limiter, { period }) => {
      const { cancel } = await limiter.reserve("k", { cost: 10 })
      clock.advance(period)
      assert.equal(await passed(limiter, "k", 1, 10), 1)
      assert.equal(await cancel(), true)
      assert.equal(await passed(limiter, "k", 3), 0)
    },
  ),

  ...forEachSubject(
    13,
    "an expired reservation cannot be settled or cancelled",
    async ({ clock }, limiter) => {
      const { settle, cancel } = await limiter.reserve("k", { cost: 6, ttl: 50 })
      clock.advance(50)
      const { remaining } = await limiter.peek("k")
      assert.deepEqual([await settle(1), await settle(60), await cancel()], [false, false, false])
      assert.equal((await limiter.peek("k")).remaining, remaining)
    },
  ),

  ...forEachSubject(13, "a denied reservation costs nothing and cannot be settled", async (_rig, limiter) => {
    assert.equal(await passed(limiter, "k", 1, 6), 1)
    const { decision, settle, cancel } = await limiter.reserve("k", { cost: 5 })
    assert.equal(decision.allowed, false)
    assert.deepEqual([await settle(2), await cancel()], [false, false])
    assert.equal((await limiter.peek("k")).remaining, 4)
  }),

  ...forEachSubject(
    13,
    "units given back never admit more than the policy beside a booked turn",
    async (rig, limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      const { cancel } = await limiter.reserve("k", { cost: isQueue(subject) ? 7 : 10 })
      const turn = await driver.book(1)
      assert.equal(await cancel(), true)
      // All requests admitted now, at the turn or in between stay within the policy.
      let admitted = 1 + (await passed(limiter, "k", 12))
      rig.clock.advance(untilTurn(rig, turn))
      admitted += await passed(limiter, "k", 12)
      const { algorithm } = subject.policy
      const most = algorithm.startsWith("sliding") ? 10 : 20
      assert.ok(admitted <= most, `${admitted} admitted until the turn`)
    },
  ),

  ...forEachSubject(
    6,
    "every key written by a reservation expires",
    async (rig, limiter) => {
      const ttl = 30_000
      await limiter.reserve("k", { cost: 3, ttl })
      await limiter.charge("k", 14)
      const { policies, resetAfter } = await limiter.peek("k")
      const longest = Math.max(ttl, ...(policies ?? [{ resetAfter }]).map((each) => each.resetAfter))
      const expiry = await rig.expiry?.()
      assert.ok(expiry !== undefined && expiry.left.size > 1)
      for (const [key, left] of expiry.left) {
        assert.ok(left > 0 && left <= longest + 1_000 + expiry.slack, `${key} is kept for ${left} ms`)
      }
    },
    "expiry",
  ),

  ...forEachSubject(13, "a reset voids earlier reservations but not later ones", async (_rig, limiter) => {
    const before = await limiter.reserve("k", { cost: 6 })
    await limiter.reset("k")
    const between = await limiter.reserve("k", { cost: 5 })
    await limiter.reset("k")
    const after = await limiter.reserve("k", { cost: 4 })
    assert.equal((await limiter.tryAcquire("k", { cost: 6 })).allowed, true)
    await Promise.all([before.cancel(), between.cancel()])
    assert.equal((await limiter.peek("k")).remaining, 0)
    assert.equal(await after.cancel(), true)
    assert.equal((await limiter.peek("k")).remaining, 4)
  }),

  ...forEachSubject(
    13,
    "nothing spent or booked before a reset can be given back after it",
    async (rig, limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      const [store] = rig.stores as [Store]
      const come = await driver.book(2)
      await driver.request("spend", isQueue(subject) ? 5 : 8)
      const [a, b, c] = [await driver.book(1), await driver.book(1), await driver.book(1)]
      await driver.leave(b)
      rig.clock.advance(1)
      await limiter.reset("k")
      for (const key of ["k", "spared"]) await fill(driver, subject, key)
      await store.giveBack(come.policies, come.at)
      await driver.leave(come)
      assert.equal((await driver.book(1)).at, (await driver.book(1, "spared")).at)
      for (const turn of [a, c]) await driver.leave(turn)
      assert.equal((await driver.book(1)).at, (await driver.book(1, "spared")).at)
      await sameFromNowOn(rig, driver, ["k", "spared"], subject.period)
    },
  ),

  ...forEachSubject(
    13,
    "turns booked after a reset can be given back",
    async (rig, limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      for (const key of ["k", "spared"]) await fill(driver, subject, key)
      await limiter.reset("k")
      await fill(driver, subject)
      const [a, b] = [await driver.book(1), await driver.book(1)]
      for (const turn of [a, b]) await driver.leave(turn)
      await sameFromNowOn(rig, driver, ["k", "spared"], subject.period)
    },
  ),
]
