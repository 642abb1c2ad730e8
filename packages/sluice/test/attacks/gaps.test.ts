import { Redis } from "ioredis"
import {
  type Clock,
  fixedWindow,
  memoryStore,
  type Policy,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { countingOf, type PolicyRequest, parametersOf, policyRef, type Turn } from "sluice/store"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const stores: Record<string, (clock: Clock) => Store> = {
  memory: (clock) => memoryStore({ clock }),
  Redis: (clock) => redisStore(ioredis(client), { clock, prefix: crypto.randomUUID() }),
}

/** A store on a manual clock, without a limiter around it. */
function rigOf(storeBy: (clock: Clock) => Store) {
  const clock = manualClock(1_000_000)
  const store = storeBy(clock)
  const under = (name: string, policy: Policy, cost: number): PolicyRequest => ({
    ref: policyRef("gaps", name),
    key: "k",
    policy,
    cost,
  })
  const spend = async (...policies: PolicyRequest[]) =>
    (await store.decide({ policies, count: 1, mode: "spend" })).granted
  const book = async (...policies: PolicyRequest[]): Promise<Turn & { readonly seconds: number }> => {
    const reply = await store.decide({ policies, count: 1, mode: "book", maxWait: 1e10 })
    expect(reply.granted).toBe(1)
    const { turn = reply.at, receipt = [] } = reply
    return { policies, at: turn, receipt, seconds: turn / 1e6 - 1_000 }
  }
  return { clock, store, under, spend, book }
}

describe.each(Object.entries(stores))("a queue with gaps (%s)", (_, storeBy) => {
  const bucket = tokenBucket({ capacity: 10, refill: 1, every: "1s" })

  test("a turn in a gap, later than all others, keeps its units when others are given back", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", bucket, cost)
    const q = under("q", fixedWindow({ limit: 1, window: 9_500 }), 1)
    await spend(q)
    await spend(p(10))
    const spentAt = clock() * 1_000
    const first = await book(p(1))
    await book(p(1))
    await store.leave(first)
    expect((await book(p(1), q)).seconds).toBe(9.5)
    clock.advance(2_500)
    await store.giveBack([p(10)], spentAt)
    clock.advance(7_000)
    // That turn comes now. Together they would be 11 at one instant.
    expect(await spend(p(10))).toBe(0)
  })

  test("the last turn, given up after units were given back, lets no more of them come back", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const one = under("p", tokenBucket({ capacity: 2, refill: 10, every: "1s" }), 1)
    const spentAt = clock() * 1_000
    await spend(one)
    await spend(one)
    await book(one)
    const last = await book(one)
    clock.advance(10)
    await store.giveBack([one], spentAt)
    await store.leave(last)
    await store.giveBack([one], spentAt)
    clock.advance(110)
    // A turn came 20 ms ago. The bucket holds two, so one is left.
    expect(await spend(one)).toBe(1)
    expect(await spend(one)).toBe(0)
  })

  test("a turn that is given up twice is free once", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", bucket, cost)
    await spend(p(10))
    const first = await book(p(1))
    for (let i = 0; i < 5; i += 1) await book(p(1))
    for (let i = 0; i < 3; i += 1) await store.leave(first)
    let passed = 0
    for (const ms of [1_000, 4_900]) {
      clock.advance(ms)
      while ((await spend(p(1))) === 1) passed += 1
    }
    expect(passed).toBe(1)
  })

  test.each([
    ["slidingLog", slidingLog({ limit: 10, window: "10s" }), 60],
    ["fixedWindow", fixedWindow({ limit: 10, window: "10s" }), 70],
  ])("turns from before the clock went back are not free after it (%s)", async (_, policy, most) => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", policy, cost)
    clock.advance(200_000)
    await spend(p(10))
    const old: Turn[] = []
    for (let i = 0; i < 60; i += 1) old.push(await book(p(1)))
    clock.advance(-200_000)
    const booked: number[] = []
    for (let i = 0; i < 30; i += 1) booked.push((await book(p(10))).at)
    for (const turn of old.slice(0, 59)) await store.leave(turn)
    const admitted: number[] = booked.flatMap((at) => Array.from({ length: 10 }, () => at))
    for (let second = 0; second < 300; second += 1) {
      clock.advance(1_000)
      while ((await spend(p(1))) === 1) admitted.push(clock() * 1_000)
    }
    const inAnyMinute = admitted.map((from) => admitted.filter((at) => at >= from && at < from + 6e7).length)
    expect(Math.max(...inAnyMinute)).toBeLessThanOrEqual(most)
  })

  test.each(["first", "clock"] as const)(
    "a turn that opened a window, delayed by another policy, is free again when it is given up (%s)",
    async (align) => {
      const { clock, store, under, spend, book } = rigOf(storeBy)
      const one = under("p", tokenBucket({ capacity: 1, refill: 1, every: "1s" }), 1)
      const of = (cost: number) => under("q", fixedWindow({ limit: 10, window: "10s", align }), cost)
      await spend(one, of(1))
      clock.advance(9_500)
      await spend(one)
      const first = await book(one, of(10))
      expect([first.seconds, (await book(one, of(10))).seconds]).toEqual([
        10.5,
        align === "clock" ? 20 : 20.5,
      ])
      await store.leave(first)
      clock.advance(1_000)
      expect(await spend(one, of(1))).toBe(1)
    },
  )

  test("a turn in a window, given up after units were given back there, leaves nothing spent", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const ten = under("p", tokenBucket({ capacity: 10, refill: 1, every: "1s" }), 10)
    const of = (cost: number) => under("q", fixedWindow({ limit: 100, window: "1h" }), cost)
    await spend(ten, of(10))
    const spentAt = clock() * 1_000
    const turn = await book(ten, of(90))
    await store.giveBack([of(1)], spentAt)
    await store.leave(turn)
    expect(await spend(of(92))).toBe(0)
    expect(await spend(of(91))).toBe(1)
  })

  test("two turns of a log that are given up one after the other lock nobody out", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", slidingLog({ limit: 10, window: "10s" }), cost)
    await spend(p(10))
    const first = await book(p(10))
    const second = await book(p(10))
    await store.leave(first)
    clock.advance(10_001)
    await store.leave(second)
    expect(await spend(p(10))).toBe(1)
  })

  test("a give-back at the very moment of the last turn ends the gaps before it", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", bucket, cost)
    await spend(p(10))
    const [ten, six] = [await book(p(10)), await book(p(6))]
    await book(p(1))
    clock.advance(10_000)
    await store.leave(six)
    clock.advance(7_000)
    await store.leave(ten)
    clock.advance(2_500)
    const early = await spend(p(6))
    clock.advance(500)
    expect(early + (await spend(p(6)))).toBe(1)
  })

  test("a reset of one policy does not keep a turn of another from being given up", async () => {
    const { store, under, spend, book } = rigOf(storeBy)
    const second = under("p", fixedWindow({ limit: 1, window: "1s" }), 1)
    const hour = under("q", fixedWindow({ limit: 1, window: "1h" }), 1)
    await spend(second)
    const turn = await book(second, hour)
    await store.forget([second])
    await store.leave(turn)
    expect(await spend(hour)).toBe(1)
  })

  test("a denial under several policies is told when all of them have a place, in whole milliseconds", async () => {
    const { clock, store, under, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", tokenBucket({ capacity: 10, refill: 5, every: 5 }), cost)
    const q = under("q", slidingWindow({ limit: 1, window: 1, buckets: 6 }), 1)
    const r = (cost: number) => under("r", slidingLog({ limit: 9, window: 10 }), cost)
    await book(p(10), q)
    const left = await book(q, r(8))
    await book(p(7), q, r(3))
    await store.leave(left)
    clock.advance(1)
    const policies = [p(1), q, r(1)]
    const waitOf = async () => {
      const { granted, levels } = await store.decide({ policies, count: 1, mode: "spend" })
      if (granted > 0) return 0
      const waits = policies.map(({ policy, cost }, i) => {
        const { algorithm } = countingOf(policy)
        return algorithm.explain(parametersOf(policy, cost), levels[i] as readonly number[]).retryAfter
      })
      return Math.max(...waits)
    }
    clock.advance(await waitOf())
    expect(await waitOf()).toBe(0)
  })

  test("a gap that fits at one microsecond only is not promised in milliseconds", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const log = slidingLog({ limit: 10, window: "10s" })
    const p = (cost: number) => under("p", log, cost)
    await spend(p(10))
    const first = await book(p(10))
    await book(p(10))
    await store.leave(first)
    clock.advance(5_000.5)
    const { levels } = await store.decide({ policies: [p(1)], count: 1, mode: "spend" })
    const { retryAfter } = countingOf(log).algorithm.explain(
      parametersOf(log, 1),
      levels[0] as readonly number[],
    )
    clock.advance(retryAfter)
    expect(await spend(p(1))).toBe(1)
  })

  test("of more gaps than are kept, the soonest stay", async () => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", bucket, cost)
    await spend(p(10))
    const left: Turn[] = []
    for (let i = 0; i < 20; i += 1) {
      left.push(await book(p(9)))
      await book(p(1))
    }
    for (const turn of left) await store.leave(turn)
    clock.advance(1_000)
    expect(await spend(p(1))).toBe(1)
  })

  test.each([
    ["tokenBucket", tokenBucket({ capacity: 5_000, refill: 5_000, every: "1s" })],
    ["fixedWindow", fixedWindow({ limit: 5_000, window: "1s" })],
    ["slidingLog", slidingLog({ limit: 5_000, window: "1s" })],
  ])("4,096 spends into one gap take few steps, and all pass (%s)", async (_, policy) => {
    const { clock, store, under, spend, book } = rigOf(storeBy)
    const p = (cost: number) => under("p", policy, cost)
    await spend(p(5_000))
    const first = await book(p(4_096))
    await book(p(5_000))
    await store.leave(first)
    clock.advance(1_000)
    await client.config("RESETSTAT")
    const { granted } = await store.decide({ policies: [p(1)], count: 4_096, mode: "spend" })
    expect(granted).toBe(4_096)
    const [, usec = "0"] = /cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(await client.info("commandstats")) ?? []
    expect(Number(usec)).toBeLessThan(20_000)
  })
})
