import { Redis } from "ioredis"
import {
  type Clock,
  createLimiter,
  fixedWindow,
  type Limiter,
  leakyBucket,
  memoryStore,
  type Policy,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { policyRef } from "sluice/store"
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
  "Redis by function": (clock) => redisStore(ioredis(client), { clock, denyCache: false }),
  "Redis by script": (clock) => redisStore(ioredis(client), { clock, denyCache: false, delivery: "script" }),
}

/** Each grants 10 units a second. */
const policies: Record<string, Policy> = {
  tokenBucket: tokenBucket({ capacity: 10, refill: 10, every: "1s" }),
  "tokenBucket by intervals": tokenBucket({ capacity: 10, refill: 10, every: "1s", mode: "interval" }),
  fixedWindow: fixedWindow({ limit: 10, window: "1s" }),
  slidingLog: slidingLog({ limit: 10, window: "1s" }),
  slidingWindow: slidingWindow({ limit: 10, window: "1s" }),
}

/** Exhausts the key, books 55 turns of cost 9 and one of cost 10, and gives the 55 up. */
async function attack(limiter: Limiter<Policy>) {
  await limiter.tryAcquire("k", { cost: 10 })
  return bookAndLeave(limiter, 55)
}

async function bookAndLeave(limiter: Limiter<Policy>, turns: number) {
  const gaveUp = new AbortController()
  const left = Array.from({ length: turns }, () =>
    limiter.acquire("k", { cost: 9, signal: gaveUp.signal }).catch(() => {}),
  )
  const stays = limiter.acquire("k", { cost: 10 })
  stays.catch(() => {})
  await limiter.peek("k")
  gaveUp.abort()
  await Promise.all(left)
  // The turns were given back before this is answered.
  await limiter.peek("k")
  return { stays }
}

function limiterOn(store: Store, policy: Policy): Limiter<Policy> {
  return createLimiter({ name: crypto.randomUUID(), policy, store })
}

describe.each(Object.entries(stores))("turns that an attacker booked and gave up (%s)", (_, storeBy) => {
  const each = Object.entries(policies)

  test.each(each)("lock no key for requests of another cost (%s)", async (_, policy) => {
    const clock = manualClock()
    const limiter = limiterOn(storeBy(clock), policy)
    const { stays } = await attack(limiter)
    let passed = 0
    for (let i = 0; i < 400; i += 1) {
      clock.advance(100)
      while ((await limiter.tryAcquire("k")).allowed) passed += 1
    }
    // Without the attack it would be 400.
    expect(passed).toBeGreaterThan(350)
    expect(passed).toBeLessThanOrEqual(400)
    await limiter.close()
    await expect(stays).rejects.toMatchObject({ code: "CLOSED" })
  })

  test.each(each)("lock no key if the attack is repeated between them (%s)", async (_, policy) => {
    const clock = manualClock()
    const limiter = limiterOn(storeBy(clock), policy)
    const { stays } = await attack(limiter)
    // These turns are between the others.
    const again = await bookAndLeave(limiter, 40)
    let passed = 0
    for (let i = 0; i < 300; i += 1) {
      clock.advance(100)
      while ((await limiter.tryAcquire("k")).allowed) passed += 1
    }
    // Without the attack it would be 300.
    expect(passed).toBeGreaterThan(250)
    expect(passed).toBeLessThanOrEqual(300)
    await limiter.close()
    await expect(stays).rejects.toMatchObject({ code: "CLOSED" })
    await expect(again.stays).rejects.toMatchObject({ code: "CLOSED" })
  })

  test.each(each)("go to the next waiter, whatever its cost (%s)", async (_, policy) => {
    const clock = manualClock()
    const limiter = limiterOn(storeBy(clock), policy)
    const { stays } = await attack(limiter)
    const start = clock()
    const { retryAfter } = await limiter.peek("k", { cost: 5 })
    expect(retryAfter).toBeLessThanOrEqual(1_000)
    const passed = limiter.acquire("k", { cost: 5 }).then(() => clock() - start)
    await limiter.peek("k")
    clock.advance(retryAfter)
    expect(await passed).toBe(retryAfter)
    await limiter.close()
    await expect(stays).rejects.toMatchObject({ code: "CLOSED" })
  })

  test.each(each)("leave retryAfter exact (%s)", async (_, policy) => {
    const clock = manualClock()
    const limiter = limiterOn(storeBy(clock), policy)
    const { stays } = await attack(limiter)
    for (const cost of [1, 3, 9, 2, 10, 1, 4, 8]) {
      clock.advance(170)
      const { allowed, retryAfter } = await limiter.tryAcquire("k", { cost })
      if (allowed) continue
      clock.advance(retryAfter - 1)
      expect(await limiter.peek("k", { cost })).toMatchObject({ allowed: false, retryAfter: 1 })
      clock.advance(1)
      expect(await limiter.tryAcquire("k", { cost })).toMatchObject({ allowed: true })
    }
    await limiter.close()
    await expect(stays).rejects.toMatchObject({ code: "CLOSED" })
  })

  test("leave the leaky bucket even for those who wait", async () => {
    const policy = leakyBucket({ capacity: 600, leak: 10, every: "1s" })
    const store = storeBy(manualClock())
    const limiter = limiterOn(store, policy)
    const { stays } = await attack(limiter)
    const part = { ref: policyRef(limiter.name, "default"), key: "k", policy, cost: 1 }
    const waits: number[] = []
    for (let i = 0; i < 5; i += 1) {
      const { turn = 0, at } = await store.decide({ policies: [part], count: 1, mode: "book", maxWait: 6e7 })
      waits.push((turn - at) / 1_000)
    }
    expect(waits).toEqual([1_000, 1_100, 1_200, 1_300, 1_400])
    await limiter.close()
    await expect(stays).rejects.toMatchObject({ code: "CLOSED" })
  })
})

test("1,500 waiters that give up take Redis less than half a second", async () => {
  const limiter = createLimiter({
    policy: tokenBucket({ capacity: 10, refill: 10, every: "1s" }),
    store: redisStore(ioredis(client)),
    maxWait: "1h",
  })
  await limiter.tryAcquire("k", { cost: 10 })
  const gaveUp = new AbortController()
  // A turn that stays after every 50, so that there are more gaps than a state keeps.
  const left = Array.from({ length: 1_500 }, (_, i) => [
    limiter.acquire("k", { cost: 9, signal: gaveUp.signal }).catch(() => {}),
    ...(i % 50 === 0 ? [limiter.acquire("k", { cost: 10 }).catch(() => {})] : []),
  ])
  await limiter.peek("k")
  await client.config("RESETSTAT")
  gaveUp.abort()
  await Promise.all(left.map(([first]) => first))
  await limiter.peek("k")
  const [, usec] = /cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(await client.info("commandstats")) ?? []
  expect(Number(usec)).toBeLessThan(500_000)
  await limiter.close()
})
