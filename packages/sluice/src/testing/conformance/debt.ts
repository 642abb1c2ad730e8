import { strict as assert } from "node:assert"
import { type ConformanceCase, forEachSubject, passed } from "./rig.js"
import { storeDriver } from "./store-driver.js"

/** Laws 2, 3, 4 and 11, for charges into debt. */
export const debt: readonly ConformanceCase[] = [
  ...forEachSubject(2, "a charge is spent under every policy", async (_rig, limiter) => {
    const left = async () => {
      const { policies, remaining } = await limiter.peek("k")
      return policies?.map((each) => each.remaining) ?? [remaining]
    }
    const before = await left()
    const { allowed, remaining } = await limiter.charge("k", 7)
    assert.deepEqual([allowed, remaining], [true, 3])
    assert.deepEqual(
      await left(),
      before.map((units) => units - 7),
    )
    assert.equal(await passed(limiter, "k", 12), 3)
    assert.equal((await limiter.charge("k", 2)).allowed, false)
  }),

  ...[1, 3, 10].flatMap((cost) =>
    forEachSubject(
      3,
      `retryAfter is exact in debt for a cost of ${cost}`,
      async ({ clock }, limiter, { period }) => {
        assert.equal(await passed(limiter, "k", 1, 8), 1)
        clock.advance(Math.floor(period / 50))
        await limiter.charge("k", 9)
        const { allowed, retryAfter } = await limiter.tryAcquire("k", { cost })
        assert.equal(allowed, false)
        clock.advance(retryAfter - 1)
        assert.equal((await limiter.tryAcquire("k", { cost })).allowed, false)
        clock.advance(1)
        assert.equal((await limiter.tryAcquire("k", { cost })).allowed, true)
      },
    ),
  ),

  ...forEachSubject(3, "debt delays later requests", async (rig, _limiter, subject, policy) => {
    const driver = storeDriver(rig, policy)
    for (const key of ["k", "spared"]) assert.equal((await driver.request("spend", 10, key)).allowed, true)
    await driver.request("charge", 6)
    const [owing, spared] = [await driver.request("peek", 5), await driver.request("peek", 5, "spared")]
    rig.clock.advance(spared.retryAfter)
    const { algorithm } = subject.policy
    // With a large refill, one interval pays any debt.
    const pays = algorithm === "tokenBucket" && subject.policy.refill > 2 * subject.policy.capacity
    assert.equal((await driver.request("spend", 5)).allowed, pays)
    assert.ok(pays || owing.retryAfter > spared.retryAfter)
  }),

  ...forEachSubject(
    11,
    "debt is bounded, however much is charged and how often",
    async (rig, _limiter, { period }, policy) => {
      const driver = storeDriver(rig, policy)
      let longest = 0
      for (const cost of [25, 1_000_000, 7, 3, 1_000_000, 1_000_000]) {
        await driver.request("charge", cost)
        const { policies, retryAfter } = await driver.request("peek", 1)
        longest = Math.max(longest, policies?.[0]?.retryAfter ?? retryAfter)
      }
      assert.ok(longest > 0 && longest <= 2 * period, `in debt for ${longest} ms`)
      rig.clock.advance(longest)
      const { policies, retryAfter } = await driver.request("peek", 1)
      assert.equal(policies?.[0]?.retryAfter ?? retryAfter, 0)
    },
  ),

  ...forEachSubject(
    4,
    "a clock that steps back an hour cancels no debt",
    async (rig, _limiter, { period }, policy) => {
      const driver = storeDriver(rig, policy)
      await driver.request("charge", 19)
      const owed = await driver.request("peek", 1)
      rig.clock.advance(-3_600_000)
      const { allowed, retryAfter } = await driver.request("spend", 1)
      assert.equal(allowed, false)
      assert.ok(retryAfter >= owed.retryAfter - period / 4, `${retryAfter} ms, ${owed.retryAfter} before`)
      assert.ok(retryAfter <= owed.retryAfter + 2 * period + 1_000)
    },
  ),
]
