import { strict as assert } from "node:assert"
import type { Turn } from "../../store.js"
import { type ConformanceCase, forEachSubject, type Subject, sequence } from "./rig.js"
import {
  FAR,
  fill,
  isQueue,
  type StoreDriver,
  sameFromNowOn,
  storeDriver,
  untilTurn,
} from "./store-driver.js"

const hour = 3_600_000

/** Laws 1, 2, 3, 4, 6, 8 and 11, for booked turns. */
export const turns: readonly ConformanceCase[] = [
  ...forEachSubject(
    1,
    "a denied turn writes nothing",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      await fill(driver, subject)
      if (isQueue(subject)) await driver.book(3)
      rig.clock.advance(10)
      const before = await rig.snapshot?.()
      for (const cost of [1, 7, 10]) assert.equal((await driver.tryBook(cost, 1)).granted, 0)
      for (const cost of [11, 1_000_000]) {
        const { granted, turn, decision } = await driver.tryBook(cost)
        assert.deepEqual([granted, turn, decision.retryAfter], [0, undefined, Number.POSITIVE_INFINITY])
      }
      assert.equal((await driver.tryBook(11, FAR, "fresh")).granted, 0)
      assert.deepEqual(await rig.snapshot?.(), before)
    },
    "snapshot",
  ),

  ...forEachSubject(
    1,
    "a denied turn has no effect on later requests",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      for (const key of ["k", "spared"]) await fill(driver, subject, key)
      rig.clock.advance(subject.period / 50)
      for (const cost of [4, 10, 11]) assert.equal((await driver.tryBook(cost, 1)).granted, 0)
      await sameFromNowOn(rig, driver, ["k", "spared"], subject.period)
    },
  ),

  ...forEachSubject(
    2,
    "a turn is booked under every policy or under none",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      const left = async () => {
        const { policies, remaining } = await driver.request("peek", 1)
        return policies?.map((each) => each.remaining) ?? [remaining]
      }
      await driver.book(2)
      const before = await left()
      assert.equal((await driver.tryBook(11)).granted, 0)
      assert.deepEqual(await left(), before)
      await driver.book(3)
      if (isQueue(subject)) return
      assert.deepEqual(
        await left(),
        before.map((units) => units - 3),
      )
    },
  ),

  ...[1, 3, 10].flatMap((cost) =>
    forEachSubject(
      3,
      `a turn comes exactly when a cost of ${cost} passes`,
      async (rig, _limiter, subject, policy) => {
        if (isQueue(subject) && cost > 3) return
        const driver = storeDriver(rig, policy)
        for (const key of ["k", "same"]) {
          for (const spent of isQueue(subject) ? [4, 3] : [4, 3, 3]) {
            assert.equal((await driver.request("spend", spent, key)).allowed, true)
          }
        }
        rig.clock.advance(7)
        const turn = await driver.book(cost)
        // A turn in a queue comes when everything before it has leaked out.
        const passes = isQueue(subject) ? 10 : cost
        rig.clock.advance(untilTurn(rig, turn) - 1)
        assert.equal((await driver.request("peek", passes, "same")).allowed, false)
        rig.clock.advance(1)
        assert.equal((await driver.request("peek", passes, "same")).allowed, true)
        if (isQueue(subject)) return
        // The booking has spent the cost.
        assert.equal((await driver.request("spend", passes, "same")).allowed, true)
        assert.deepEqual(await driver.request("peek", 1), await driver.request("peek", 1, "same"))
      },
    ),
  ),

  ...forEachSubject(
    3,
    "a turn that is too far ahead is denied with the exact wait",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      await fill(driver, subject)
      rig.clock.advance(7)
      const { granted, turn, at, decision } = await driver.tryBook(3, 1)
      assert.ok(granted === 0 && turn !== undefined)
      const wait = (turn - at) / 1_000
      assert.equal(decision.retryAfter, wait)
      assert.equal((await driver.tryBook(3, wait - 1)).granted, 0)
      assert.equal((await driver.tryBook(3, wait)).turn, turn)
    },
  ),

  ...[1, 3].flatMap((cost) =>
    forEachSubject(
      3,
      `retryAfter is exact behind booked turns for a cost of ${cost}`,
      async (rig, limiter, subject, policy) => {
        const driver = storeDriver(rig, policy)
        await fill(driver, subject)
        rig.clock.advance(3)
        await driver.book(isQueue(subject) ? 2 : 9)
        const last = await driver.book(isQueue(subject) ? 1 : 9)
        const { allowed, retryAfter } = await limiter.tryAcquire("k", { cost })
        assert.equal(allowed, false)
        // No request overtakes booked turns, except into a queue with room.
        assert.ok(isQueue(subject) || retryAfter >= untilTurn(rig, last))
        rig.clock.advance(retryAfter - 1)
        assert.equal((await limiter.tryAcquire("k", { cost })).allowed, false)
        rig.clock.advance(1)
        assert.equal((await limiter.tryAcquire("k", { cost })).allowed, true)
      },
    ),
  ),

  ...[5, hour].flatMap((back) =>
    forEachSubject(
      4,
      `a clock that steps back ${back} ms lets no request overtake booked turns and locks no key out`,
      async (rig, _limiter, subject, policy) => {
        const driver = storeDriver(rig, policy)
        await fill(driver, subject)
        let last = await driver.book(2)
        if (!isQueue(subject)) for (let i = 0; i < 3; i += 1) last = await driver.book(9)
        const lead = untilTurn(rig, last)
        rig.clock.advance(-back)
        const early = await driver.request("spend", isQueue(subject) ? 2 : 1)
        assert.equal(early.allowed, false)
        assert.ok(early.retryAfter <= lead + 2 * subject.period + Math.min(back, 1_000))
        rig.clock.advance(early.retryAfter)
        assert.equal((await driver.request("spend", 1)).allowed, true)
      },
    ),
  ),

  ...forEachSubject(
    6,
    "every key written by a booking expires",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      await fill(driver, subject)
      const line = [await driver.book(1), await driver.book(1), await driver.book(1)]
      const { policies, resetAfter } = await driver.request("peek", 1)
      const reset = Math.max(...(policies ?? [{ resetAfter }]).map((each) => each.resetAfter))
      // An interval bucket keeps its state for as long as it takes to refill.
      const longest = Math.max(reset, untilTurn(rig, line[2] as Turn) + subject.period)
      const expires = async () => {
        const expiry = await rig.expiry?.()
        assert.ok(expiry !== undefined && expiry.left.size > 0)
        for (const [key, left] of expiry.left) {
          assert.ok(left > 0 && left <= longest + 1_000 + expiry.slack, `${key} is kept for ${left} ms`)
        }
      }
      await expires()
      for (const turn of line.slice(0, 2)) {
        await driver.leave(turn)
        await expires()
      }
    },
    "expiry",
  ),

  ...forEachSubject(
    8,
    "50 concurrent bookings over all connections get one turn each",
    async (rig, _limiter, subject, policy) => {
      const drivers = rig.stores.map((_store, i) => storeDriver(rig, policy, i))
      const booked = await Promise.all(
        Array.from({ length: 50 }, (_, i) => (drivers[i % drivers.length] as StoreDriver).tryBook(1)),
      )
      const at = booked.flatMap(({ granted, turn }) => (granted === 1 ? [turn as number] : []))
      at.sort((a, b) => a - b)
      const now = rig.clock() * 1_000
      if (isQueue(subject)) {
        assert.deepEqual(
          at,
          Array.from({ length: 10 }, (_, i) => now + i * 100_000),
        )
        return
      }
      assert.equal(at.length, 50)
      assert.equal(at.filter((turn) => turn === now).length, 10)
      checkSpans(
        at.map((turn) => ({ at: turn, cost: 1 })),
        subject,
      )
    },
  ),

  ...forEachSubject(
    11,
    "turns come in the order of their requests and within the bound",
    async (rig, _limiter, subject, policy) => {
      const driver = storeDriver(rig, policy)
      const random = sequence(subject.period)
      const booked: { at: number; cost: number }[] = []
      for (let i = 0; i < 100; i += 1) {
        rig.clock.advance(random() < 0.6 ? 0 : Math.floor(random() ** 2 * subject.period * 0.5))
        const cost = 1 + Math.floor(random() ** 4 * 10)
        const { granted, turn } = await driver.tryBook(cost, 5 * subject.period)
        if (granted === 1) booked.push({ at: turn as number, cost })
      }
      assert.ok(booked.length > 20)
      for (const [i, { at }] of booked.slice(1).entries()) assert.ok(at >= (booked[i]?.at ?? 0))
      checkSpans(booked, subject)
    },
  ),
]

/** Throws if any span of one period admits more than the policy allows. */
function checkSpans(admitted: readonly { at: number; cost: number }[], { policy, period }: Subject): void {
  const isInterval = policy.algorithm === "tokenBucket" && policy.mode === "interval"
  const refill = policy.algorithm === "tokenBucket" ? policy.refill : 0
  const bound = policy.algorithm.startsWith("sliding")
    ? 10
    : isInterval
      ? 10 + refill * Math.ceil(period / policy.every)
      : 20
  for (const { at } of admitted) {
    const within = admitted.filter((each) => each.at >= at && each.at < at + period * 1_000)
    const units = within.reduce((sum, { cost }) => sum + cost, 0)
    assert.ok(units <= bound, `${units} within ${period} ms`)
  }
}
