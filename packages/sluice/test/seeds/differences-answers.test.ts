import { leakyBucket, slidingLog, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
import { stores, useRig } from "./rig.js"

// Where the answers differ from the documents on purpose; docs/seeds.md says why.
const rig = useRig()

/** Redisson's keys as 002 lists them, with 100 permits per 1000 ms. */
async function redisson(name: string): Promise<string[]> {
  await rig.client.hset(name, { rate: 100, interval: 1_000, type: 0 })
  return [name, ...["value", "value:client", "permits", "permits:client"].map((key) => `${name}:${key}`)]
}

describe.each(stores)("answers on the %s store", (store) => {
  test("bad parameters throw where 003 makes do with defaults", async () => {
    const clock = manualClock()
    const request = (capacity: number, rate: number, permits: number) =>
      rig.run("003-token-bucket", clock, [`bad-${store}-${capacity}`], capacity, rate, permits)
    expect(await request(0, 5, 1)).toEqual([0, 0, 1_000])
    expect(await request(10, -5, 1)).toEqual([0, 0, 1_000])
    expect(await request(20, 5, -3)).toEqual([1, 19, 0])

    const invalidPolicy = expect.objectContaining({ code: "INVALID_POLICY" })
    expect(() => tokenBucket({ capacity: 0, refill: 5, every: "1s" })).toThrow(invalidPolicy)
    expect(() => tokenBucket({ capacity: 10, refill: -5, every: "1s" })).toThrow(invalidPolicy)
    expect(() => leakyBucket({ capacity: 10, leak: 0, every: "1s" })).toThrow(invalidPolicy)
    const limiter = rig.limiter(store, tokenBucket({ capacity: 20, refill: 5, every: "1s" }), clock)
    const invalidCost = expect.objectContaining({ code: "INVALID_COST" })
    await expect(limiter.tryAcquire("user", { cost: -3 })).rejects.toThrow(invalidCost)
    await expect(limiter.tryAcquire("user", { cost: 0 })).rejects.toThrow(invalidCost)
    expect((await limiter.peek("user")).remaining).toBe(20)
  })

  test("a cost beyond the limit is refused for ever where 002 throws and 003 names a wait", async () => {
    const clock = manualClock()
    const keys = await redisson(`beyond-${store}`)
    await expect(rig.run("002-redisson", clock, keys, 150, clock(), "id")).rejects.toThrow(/could not exceed/)
    const bucket = () => rig.run("003-token-bucket", clock, [`beyond-003-${store}`], 10, 5, 11)
    expect(await bucket()).toEqual([0, 10, 200])
    clock.advance(200)
    expect(await bucket()).toEqual([0, 10, 200])

    const never = { allowed: false, retryAfter: Number.POSITIVE_INFINITY }
    const log = rig.limiter(store, slidingLog({ limit: 100, window: "1s" }), clock)
    expect(await log.tryAcquire("user", { cost: 150 })).toMatchObject(never)
    const tokens = rig.limiter(store, tokenBucket({ capacity: 10, refill: 5, every: "1s" }), clock)
    expect(await tokens.tryAcquire("user", { cost: 11 })).toMatchObject(never)
  })

  test("the wait is exact where 002 estimates it from the first entry", async () => {
    const clock = manualClock(10_000)
    const keys = await redisson(`wait-${store}`)
    const limiter = rig.limiter(store, slidingLog({ limit: 100, window: "1s" }), clock)
    const script = (cost: number) => rig.run("002-redisson", clock, keys, cost, clock(), `${clock()}`)
    const both = async (cost: number) => [
      await script(cost),
      (await limiter.tryAcquire("user", { cost })).retryAfter,
    ]
    expect(await both(5)).toEqual([null, 0])
    clock.set(10_100)
    expect(await both(30)).toEqual([null, 0])
    clock.set(10_200)
    // 70 fit when the first 5 have left, in 800 ms: 002 adds 3; 100 fit in 900 ms: 002 is 97 short
    expect(await both(70)).toEqual([803, 800])
    expect(await both(100)).toEqual([803, 900])
    clock.set(10_200 + 803)
    expect(await script(100)).not.toBeNull()
    clock.set(10_200 + 899)
    expect((await limiter.tryAcquire("user", { cost: 100 })).allowed).toBe(false)
    clock.set(10_200 + 900)
    expect((await limiter.tryAcquire("user", { cost: 100 })).allowed).toBe(true)
  })
})

describe("what stays in Redis", () => {
  test("a denial writes nothing where 000 and 003 save the bucket and push its expiry back", async () => {
    const clock = manualClock()
    const limiter = rig.limiter("redis", tokenBucket({ capacity: 1, refill: 1, every: "1m" }), clock)
    const requests: [string, () => Promise<unknown>][] = [
      ["written-000", () => rig.run("000-token-bucket", clock, ["written-000"], 1, 0.125, clock() / 1_000)],
      ["written-003", () => rig.run("003-token-bucket", clock, ["written-003"], 1, 0.125, 1)],
      [redisKey(limiter.name, "user", "default", "tb"), () => limiter.tryAcquire("user")],
    ]
    const changed: boolean[] = []
    for (const [key, request] of requests) {
      await request()
      const before = [await rig.client.dumpBuffer(key), await rig.client.pexpiretime(key)]
      clock.advance(1_000)
      await request()
      const after = [await rig.client.dumpBuffer(key), await rig.client.pexpiretime(key)]
      expect(before[0]).not.toBeNull()
      changed.push(JSON.stringify(before) !== JSON.stringify(after))
    }
    expect(changed).toEqual([true, true, false])
  })

  test("every key expires where 002 and the buckets of 004 stay for ever", async () => {
    const clock = manualClock()
    const keys = await redisson("immortal-002")
    await rig.run("002-redisson", clock, keys, 5, clock(), "id")
    await rig.run("004-token-bucket", clock, ["immortal-tb"], 16, 1.6, clock() / 1_000, 1)
    await rig.run("004-leaky-bucket", clock, ["immortal-lb"], 16, 1.6, clock() / 1_000)
    const stayed = (await rig.client.keys("immortal-*")).filter((key) => !key.endsWith(":deadlines"))
    expect(stayed).toHaveLength(7)
    for (const key of stayed) expect(await rig.client.pttl(key)).toBe(-1)

    await rig.limiter("redis", slidingLog({ limit: 100, window: "1s" }), clock).tryAcquire("user")
    await rig
      .limiter("redis", tokenBucket({ capacity: 16, refill: 16, every: "10s" }), clock)
      .tryAcquire("user")
    await rig
      .limiter("redis", leakyBucket({ capacity: 16, leak: 16, every: "10s" }), clock)
      .tryAcquire("user")
    const ours = await rig.client.keys("sluice:*")
    expect(ours.length).toBeGreaterThan(3)
    for (const key of ours) expect(await rig.client.pttl(key)).toBeGreaterThan(0)
  })
})
