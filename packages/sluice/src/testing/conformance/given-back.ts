import assert from "node:assert/strict"
import type { Store } from "../../store.js"
import { deskOf, fill, isQueue, sameFromNowOn, untilTurn } from "./desk.js"
import { type ConformanceCase, forEachSubject, limiterOn, passed } from "./rig.js"

/** Laws 6 and 13: turns that are left, and reservations. */
export const givenBack: readonly ConformanceCase[] = [
  ...forEachSubject(
    13,
    "turns that are left before they come leave nothing spent, whoever leaves first",
    async (rig, _limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      for (const key of ["k", "spared"]) await fill(desk, subject, key)
      rig.clock.advance(3)
      const [a, b, c] = [await desk.book(1), await desk.book(1), await desk.book(1)]
      for (const turn of [b, a, c]) await desk.leave(turn)
      await sameFromNowOn(rig, desk, ["k", "spared"], subject.period)
    },
  ),

  ...forEachSubject(
    13,
    "the last turn that is left takes nothing from anybody",
    async (rig, _limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      await fill(desk, subject)
      const first = await desk.book(1)
      const cost = isQueue(subject) ? 2 : 9
      const left = await desk.book(cost)
      await desk.leave(left)
      const next = await desk.book(cost)
      assert.equal(next.at, left.at)
      assert.ok(next.at >= first.at)
    },
  ),

  ...forEachSubject(
    13,
    "a turn that is left behind others is had by who books the same next, once",
    async (rig, _limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      const cost = isQueue(subject) ? 1 : 6
      await fill(desk, subject)
      const [, second, third] = [await desk.book(cost), await desk.book(cost), await desk.book(cost)]
      await desk.leave(second)
      assert.equal((await desk.book(cost)).at, second.at)
      const { granted, turn } = await desk.tryBook(cost)
      if (granted === 1) assert.ok((turn as number) > third.at)
      else assert.ok(isQueue(subject))
    },
  ),

  ...forEachSubject(
    13,
    "a turn that has come is given back while it counts, and never after",
    async (rig, _limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      const [used, unused] = [await desk.book(9), await desk.book(1, "other")]
      await desk.leave(used)
      assert.equal((await desk.ask("peek", 10)).allowed, true)
      rig.clock.advance(subject.period)
      assert.equal((await desk.ask("spend", 10, "other")).allowed, true)
      await desk.leave(unused)
      assert.equal((await desk.ask("spend", 1, "other")).allowed, false)
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

  ...forEachSubject(13, "a reservation that is cancelled has cost nothing", async (_rig, limiter) => {
    assert.equal(await passed(limiter, "k", 1, 3), 1)
    const { cancel } = await limiter.reserve("k", { cost: 7 })
    assert.equal((await limiter.tryAcquire("k")).allowed, false)
    assert.equal(await cancel(), true)
    assert.equal((await limiter.peek("k")).remaining, 7)
    assert.equal(await passed(limiter, "k", 12), 7)
  }),

  ...forEachSubject(13, "a reservation of too little is charged for the rest", async (_rig, limiter) => {
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

  ...forEachSubject(13, "a reservation whose time is over stays as it was", async ({ clock }, limiter) => {
    const { settle, cancel } = await limiter.reserve("k", { cost: 6, ttl: 50 })
    clock.advance(50)
    const { remaining } = await limiter.peek("k")
    assert.deepEqual([await settle(1), await settle(60), await cancel()], [false, false, false])
    assert.equal((await limiter.peek("k")).remaining, remaining)
  }),

  ...forEachSubject(
    13,
    "a reservation that is refused costs nothing and has nothing to settle",
    async (_rig, limiter) => {
      assert.equal(await passed(limiter, "k", 1, 6), 1)
      const { decision, settle, cancel } = await limiter.reserve("k", { cost: 5 })
      assert.equal(decision.allowed, false)
      assert.deepEqual([await settle(2), await cancel()], [false, false])
      assert.equal((await limiter.peek("k")).remaining, 4)
    },
  ),

  ...forEachSubject(
    13,
    "what is given back of a debit never brings a turn to two",
    async (rig, limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      const { cancel } = await limiter.reserve("k", { cost: isQueue(subject) ? 7 : 10 })
      const turn = await desk.book(1)
      assert.equal(await cancel(), true)
      // whoever is let through now, then or in between: together no more than the policy admits
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
    "every key that a reservation leaves behind expires",
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

  ...forEachSubject(
    13,
    "what was reserved before a reset is not given back after it, what was reserved since is",
    async (_rig, limiter) => {
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
    },
  ),

  ...forEachSubject(
    13,
    "nothing that was spent or booked before a reset is given back after it",
    async (rig, limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      const [store] = rig.stores as [Store]
      const come = await desk.book(2)
      await desk.ask("spend", isQueue(subject) ? 5 : 8)
      const [a, b, c] = [await desk.book(1), await desk.book(1), await desk.book(1)]
      await desk.leave(b)
      rig.clock.advance(1)
      await limiter.reset("k")
      for (const key of ["k", "spared"]) await fill(desk, subject, key)
      await store.giveBack(come.parts, come.at)
      await desk.leave(come)
      assert.equal((await desk.book(1)).at, (await desk.book(1, "spared")).at)
      for (const turn of [a, c]) await desk.leave(turn)
      assert.equal((await desk.book(1)).at, (await desk.book(1, "spared")).at)
      await sameFromNowOn(rig, desk, ["k", "spared"], subject.period)
    },
  ),

  ...forEachSubject(
    13,
    "turns that are booked after a reset are given back as ever",
    async (rig, limiter, subject, policy) => {
      const desk = deskOf(rig, policy)
      for (const key of ["k", "spared"]) await fill(desk, subject, key)
      await limiter.reset("k")
      await fill(desk, subject)
      const [a, b] = [await desk.book(1), await desk.book(1)]
      for (const turn of [a, b]) await desk.leave(turn)
      await sameFromNowOn(rig, desk, ["k", "spared"], subject.period)
    },
  ),
]
