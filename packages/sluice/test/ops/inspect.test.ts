import { Redis } from "ioredis"
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Policy,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { createRules } from "sluice/rules"
import { type PolicyRequest, policyRef } from "sluice/store"
import { type ManualClock, manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { dice } from "../support/dice.js"
import { command, type RedisServer, startRedis, startReplica } from "../support/redis-server.js"

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

const policies: [string, Policy][] = [
  ["fixedWindow", fixedWindow({ limit: 2, window: "10s" })],
  ["fixedWindow by the clock", fixedWindow({ limit: 2, window: "10s", align: "clock" })],
  ["slidingLog", slidingLog({ limit: 2, window: "10s" })],
  ["slidingWindow", slidingWindow({ limit: 2, window: "10s" })],
  ["tokenBucket", tokenBucket({ capacity: 2, refill: 3, every: "10s" })],
  ["tokenBucket in steps", tokenBucket({ capacity: 2, refill: 2, every: "10s", mode: "interval" })],
  ["leakyBucket", leakyBucket({ capacity: 5, leak: 1, every: "5s" })],
]

const redis = (delivery: "function" | "script") => async (clock: ManualClock) => {
  await client.flushall()
  return redisStore(ioredis(client), { clock, delivery })
}
const stores: [string, (clock: ManualClock) => Promise<Store>][] = [
  ["memory", async (clock) => memoryStore({ clock })],
  ["Redis by function", redis("function")],
  ["Redis by script", redis("script")],
]

/** All that Redis holds: values and expiry. */
async function snapshot(): Promise<Record<string, string>> {
  const keys = (await client.keys("*")).sort()
  const entries = keys.map(async (key) => {
    const value = (await client.dumpBuffer(key))?.toString("hex")
    return [key, `${value} ${await client.pexpiretime(key)}`] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe.each(stores)("inspect on a store: %s", (name, make) => {
  const setUp = async (policy: Policy, maxWait: "1m" | "1d" = "1d") => {
    const clock = manualClock()
    const store = await make(clock)
    const limiter = createLimiter({ name: "api", policy, store, maxWait })
    onTestFinished(() => limiter.close())
    const request: PolicyRequest = { ref: policyRef("api", "default"), key: "k", policy, cost: 1 }
    const book = async () => {
      const reply = await store.decide({
        policies: [request],
        count: 1,
        mode: "book",
        maxWait: 86_400_000_000,
      })
      const { turn = Number.POSITIVE_INFINITY } = reply
      return { turn, wait: Math.ceil((turn - reply.at) / 1_000), reply }
    }
    const inspect = async () => {
      const { policies, gaps } = await limiter.inspect("k")
      return { ...policies[0], gaps }
    }
    return { clock, store, limiter, book, inspect, request }
  }

  test.each(policies)("a new key has nothing stored and no queue: %s", async (_, policy) => {
    const { inspect } = await setUp(policy)
    expect(await inspect()).toMatchObject({
      used: 0,
      lastTurnAfter: 0,
      nextTurnAfter: 0,
      gaps: 0,
      stored: { values: {}, words: "nothing" },
    })
  })

  test.each(policies)(
    "the end of the queue is the turn of the last and of the next waiter: %s",
    async (_, policy) => {
      const { clock, book, inspect } = await setUp(policy)
      let last = 0
      for (let i = 0; i < 9; i += 1) {
        const seen = await inspect()
        expect(seen.lastTurnAfter).toBe(last)
        const { wait } = await book()
        expect(seen.nextTurnAfter).toBe(wait)
        if (wait === Number.POSITIVE_INFINITY) expect(seen.words).toContain("the queue is full")
        else last = wait
        clock.advance(700)
        last = Math.max(last - 700, 0)
      }
      const { words, stored, lastTurnAfter } = await inspect()
      expect(lastTurnAfter).toBeGreaterThan(0)
      expect(words).toContain(`the last booked turn is in ${last} ms`)
      expect(stored?.values["lastTurnAt"]).toBeCloseTo(clock() + last, -1)
      expect(stored?.words).toMatch(/last turn at 2026-\d\d-\d\dT/)
      // The queue is empty again when its last turn has passed.
      clock.advance(86_400_000)
      expect(await inspect()).toMatchObject({
        lastTurnAfter: 0,
        nextTurnAfter: 0,
        stored: { words: "nothing" },
      })
    },
  )

  test("freed turns are those that aborted waiters left and nobody took yet", async () => {
    const { clock, store, book, inspect, request } = await setUp(fixedWindow({ limit: 1, window: "10s" }))
    const turns = [await book(), await book(), await book(), await book()]
    const leave = (i: number) => {
      const { turn, reply } = turns[i] as (typeof turns)[0]
      return store.leave({ policies: [request], at: turn, receipt: reply.receipt as number[] })
    }
    await leave(1)
    expect(await inspect()).toMatchObject({ gaps: 1, lastTurnAfter: 30_000, nextTurnAfter: 40_000 })
    await leave(2)
    // Turns that follow each other leave one gap.
    expect(await inspect()).toMatchObject({ gaps: 1, lastTurnAfter: 30_000 })
    expect((await book()).wait).toBe(10_000)
    expect(await inspect()).toMatchObject({ gaps: 1, lastTurnAfter: 30_000 })
    // A turn at the end of the queue is not freed: the queue ends sooner.
    await leave(3)
    expect(await inspect()).toMatchObject({ gaps: 0, lastTurnAfter: 10_000, nextTurnAfter: 20_000 })
    clock.advance(60_000)
    expect(await inspect()).toMatchObject({ gaps: 0, lastTurnAfter: 0 })
  })

  test("freed turns that are over, or from before a reset, do not count", async () => {
    const { clock, store, limiter, book, inspect, request } = await setUp(
      fixedWindow({ limit: 1, window: "10s" }),
    )
    const turns = [await book(), await book(), await book()]
    const { turn, reply } = turns[1] as (typeof turns)[0]
    await store.leave({ policies: [request], at: turn, receipt: reply.receipt as number[] })
    expect(await inspect()).toMatchObject({ gaps: 1 })
    await limiter.reset("k")
    expect(await inspect()).toMatchObject({ gaps: 0, stored: { words: "nothing" } })
    clock.advance(15_000)
    expect(await inspect()).toMatchObject({ gaps: 0 })
  })

  test("a reservation by its id: open with its estimate and expiry, then settled", async () => {
    const clock = manualClock()
    const store = await make(clock)
    const policy = {
      requests: fixedWindow({ limit: 9, window: "1m" }),
      tokens: slidingLog({ limit: 900, window: "1m" }),
    }
    const limiter = createLimiter({ name: "llm", policy, store })
    const { id, settle } = await limiter.reserve("k", { cost: { tokens: 500 }, ttl: "30s" })
    clock.advance(10_000)
    const inspected = async (key = "k", reservation = id) =>
      (await limiter.inspect(key, { reservation })).reservation
    expect(await inspected()).toEqual({
      id,
      isOpen: true,
      charged: { requests: 1, tokens: 500 },
      expiresAfter: 20_000,
    })
    expect((await limiter.inspect("k", { reservation: id })).policies).toMatchObject([
      { used: 1 },
      { used: 500 },
    ])
    const closed = { isOpen: false, expiresAfter: 0 }
    // Of another key, and with another estimate: the id leads to no reservation.
    expect(await inspected("other")).toMatchObject(closed)
    expect(await inspected("k", id.replace("500", "5"))).toMatchObject({ ...closed, charged: { tokens: 5 } })
    expect(await settle({ tokens: 100 })).toBe(true)
    expect(await inspected()).toMatchObject(closed)
    const late = await limiter.reserve("k", { ttl: "30s" })
    clock.advance(30_000)
    expect(await inspected("k", late.id)).toMatchObject(closed)
    expect((await limiter.inspect("k")).reservation).toBeUndefined()
  })

  test("the states of several policies have names and values of their own", async () => {
    const clock = manualClock()
    const store = await make(clock)
    const policy = {
      window: fixedWindow({ limit: 9, window: "1m" }),
      log: slidingLog({ limit: 9, window: "1m" }),
      bucket: tokenBucket({ capacity: 9, refill: 7, every: "1m" }),
      steps: tokenBucket({ capacity: 9, refill: 3, every: "1m", mode: "interval" }),
    }
    const limiter = createLimiter({ name: "api", policy, store })
    await limiter.tryAcquire("k", { cost: { window: 2, log: 3, bucket: 4, steps: 5 } })
    const { policies } = await limiter.inspect("k")
    const now = clock()
    const values = policies.map(({ stored }) => stored?.values)
    expect(values).toEqual([
      { opensAt: now, endsAt: now + 60_000, used: 2 },
      { newestAt: now, total: 3, neededUntil: now + 60_000 },
      { fullAt: expect.closeTo(now + (4 * 60_000) / 7, 2), part: expect.any(Number) },
      { fullAt: now + 100_000, stepsFrom: now, stepsUntil: expect.any(Number) },
    ])
    expect(policies[0]?.stored?.words).toBe(
      `opens at ${new Date(now).toISOString()}, ends at ${new Date(now + 60_000).toISOString()}, used 2`,
    )
    const keys = policies.flatMap(({ stored }) => stored?.key ?? [])
    expect(new Set(keys).size).toBe(name === "memory" ? 0 : 4)
    if (name !== "memory") expect(await client.exists(...keys)).toBe(4)
  })

  test.each([
    ["braces", "a{b}c{}"],
    ["line feeds", "a\nb\r\n"],
    ["NUL", "a\0b"],
    ["colons", "a:b:c:"],
    ["a lone surrogate", "a\ud800b"],
    ["10 kB", "x".repeat(10_000)],
    ["10 kB of percent signs", "%".repeat(10_000)],
  ])("a key with %s is inspected, and its state has a printable name", async (_, key) => {
    const store = await make(manualClock())
    const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 5, window: "1m" }), store })
    await limiter.tryAcquire(key, { cost: 2 })
    const { id } = await limiter.reserve(key)
    const inspection = await limiter.inspect(key, { reservation: id })
    expect(inspection).toMatchObject({ key, policies: [{ used: 3 }], reservation: { isOpen: true } })
    const stateKey = inspection.policies[0]?.stored?.key
    expect(stateKey === undefined).toBe(name === "memory")
    if (stateKey === undefined) return
    expect(stateKey).toMatch(/^[ -~]{1,200}$/)
    expect(await client.exists(stateKey)).toBe(1)
  })

  test.each([
    ["a number", 5],
    ["null", null],
    ["an empty text", ""],
    ["a text", "nonsense"],
    ["an id without costs", "0".repeat(32)],
    ["an id with a negative cost", `${"0".repeat(32)}?tokens=-1tb`],
    ["a text of 100 kB", "x".repeat(100_000)],
  ])("an id that no reservation can have is refused: %s", async (_, reservation) => {
    const store = await make(manualClock())
    const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: "1m" }), store })
    const refused = limiter.inspect("k", { reservation: reservation as string })
    await expect(refused).rejects.toMatchObject({ code: "INVALID_OPTION" })
    await expect(refused).rejects.toThrow(/^.{0,300}$/s)
  })

  test("a made-up id leads to no reservation, and names of policies cannot break the report", async () => {
    const store = await make(manualClock())
    const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: "1m" }), store })
    const id = `${"0".repeat(32)}?__proto__=7fw&constructor=8fw`
    const { reservation } = await limiter.inspect("k", { reservation: id })
    expect(reservation).toMatchObject({ id, isOpen: false })
    expect(Object.entries(reservation?.charged ?? {})).toEqual([
      ["__proto__", 7],
      ["constructor", 8],
    ])
  })

  test("a blocked or allowed key shows what is stored, and the rule", async () => {
    const store = await make(manualClock())
    const rules = createRules(store)
    onTestFinished(() => rules.close())
    const policy = fixedWindow({ limit: 5, window: "1m" })
    const limiter = createLimiter({ name: "api", policy, store, rules })
    await limiter.tryAcquire("k", { cost: 2 })
    for (const action of ["block", "allow"] as const) {
      await rules[action]({ limiter: "api", key: "k" })
      expect(await limiter.inspect("k")).toMatchObject({
        policies: [{ limit: 5, used: 2, remaining: 3, stored: { values: { used: 2 } } }],
        gaps: 0,
        rule: { action },
      })
    }
    await rules.set({ limiter: "api", key: "k", policy: fixedWindow({ limit: 7, window: "1m" }) })
    expect(await limiter.inspect("k")).toMatchObject({ policies: [{ limit: 7, used: 2 }] })
  })

  test("waiters of the limiter are seen in the queue, and an aborted one shortens it", async () => {
    const { limiter, inspect } = await setUp(fixedWindow({ limit: 1, window: "10s" }))
    await limiter.acquire("k")
    const abort = new AbortController()
    const aborted = limiter.acquire("k", { signal: abort.signal }).catch((error: Error) => error.name)
    const waits = limiter.acquire("k").catch(() => {})
    await expect.poll(inspect).toMatchObject({ lastTurnAfter: 20_000, gaps: 0 })
    abort.abort()
    expect(await aborted).toBe("AbortError")
    // The waiter behind it moves up, so that no turn in between is free.
    await expect.poll(inspect).toMatchObject({ lastTurnAfter: 10_000, gaps: 0 })
    await limiter.close()
    await waits
  })

  test("a closed limiter rejects an inspection with CLOSED", async () => {
    const { limiter } = await setUp(fixedWindow({ limit: 1, window: "10s" }))
    await limiter.close()
    await expect(limiter.inspect("k")).rejects.toMatchObject({ code: "CLOSED" })
  })
})

describe.each(["function", "script"] as const)("inspect on Redis by %s", (delivery) => {
  test.each(policies)("writes nothing, also where a request would repair a state: %s", async (_, policy) => {
    await client.flushall()
    const clock = manualClock()
    const store = redisStore(ioredis(client), { clock, delivery })
    const limiter = createLimiter({ name: "api", policy, store })
    const request: PolicyRequest = { ref: policyRef("api", "default"), key: "k", policy, cost: 1 }
    const book = () => store.decide({ policies: [request], count: 1, mode: "book", maxWait: 86_400_000_000 })
    const booked = [await book(), await book(), await book(), await book()]
    const { turn, receipt } = booked[2] as Awaited<ReturnType<typeof book>>
    await store.leave({ policies: [request], at: turn as number, receipt: receipt as number[] })
    const { id } = await createLimiter({ name: "other", policy, store }).reserve("k")
    const check = async () => {
      const before = await snapshot()
      await limiter.inspect("k", { reservation: id })
      expect(await snapshot()).toEqual(before)
    }
    await check()
    expect(Object.keys(await snapshot()).length).toBeGreaterThan(2)
    clock.advance(-86_400_000)
    await check()
    clock.advance(86_400_000)
    await limiter.reset("k")
    await check()
    clock.advance(86_400_000 * 2)
    await check()
  })

  test("works on a read-only replica, as peek does", async () => {
    await client.flushall()
    const policy = fixedWindow({ limit: 5, window: "1h" })
    const name = `replicated by ${delivery}`
    const master = createLimiter({ name, policy, store: redisStore(ioredis(client), { delivery }) })
    for (let i = 0; i < 3; i += 1) await master.tryAcquire("k")
    const { id } = await master.reserve("k")
    const replica = await startReplica(server)
    const reader = new Redis(replica.port, replica.host)
    onTestFinished(async () => {
      reader.disconnect()
      await replica.stop()
    })
    const store = redisStore(ioredis(reader), { delivery })
    const limiter = createLimiter({ name, policy, store })
    const seen = { policies: [{ used: 4, stored: { values: { used: 4 } } }], reservation: { isOpen: true } }
    expect(await limiter.inspect("k", { reservation: id })).toMatchObject(seen)
    expect(await limiter.peek("k")).toMatchObject({ remaining: 1, degraded: false })
    const rules = createRules(store)
    onTestFinished(() => rules.close())
    await rules.ready
  })

  test("works on a server whose memory is full, and rules are read there", async () => {
    const full = await startRedis()
    const direct = new Redis(full.port, full.host)
    onTestFinished(async () => {
      direct.disconnect()
      await full.stop()
    })
    const store = redisStore(ioredis(direct), { delivery, retryFor: 0 })
    const rules = createRules(store)
    onTestFinished(() => rules.close())
    const policy = fixedWindow({ limit: 5, window: "1h" })
    const limiter = createLimiter({ name: "api", policy, store, rules })
    for (let i = 0; i < 3; i += 1) await limiter.tryAcquire("k")
    await rules.block({ limiter: "api", key: "blocked" })
    await sleep(50)
    await command(full.port, "CONFIG", "SET", "maxmemory", 1)
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    expect(await limiter.inspect("k")).toMatchObject({ policies: [{ used: 3 }], gaps: 0 })
    // In one call with a request that is refused.
    const [inspected, refused] = await Promise.allSettled([limiter.inspect("k"), limiter.tryAcquire("k")])
    expect(inspected).toMatchObject({ status: "fulfilled", value: { policies: [{ used: 3 }] } })
    expect(refused.status).toBe("rejected")
    const reader = createRules(redisStore(ioredis(direct), { delivery }))
    onTestFinished(() => reader.close())
    await reader.ready
    expect(reader.list()).toMatchObject([{ key: "blocked" }])
  })

  test("a key that holds something else is reported as unreadable", async () => {
    await client.flushall()
    const store = redisStore(ioredis(client), { delivery })
    const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 5, window: "1h" }), store })
    const { policies } = await limiter.inspect("k")
    await client.set(policies[0]?.stored?.key as string, "nonsense")
    await expect(limiter.inspect("k")).rejects.toThrow(/reset the key/)
  })

  test("a lease does not answer for the store", async () => {
    await client.flushall()
    const store = redisStore(ioredis(client), { delivery })
    const policy = fixedWindow({ limit: 1_000, window: "1h" })
    const limiter = createLimiter({ name: "api", policy, store, lease: { time: "10s" } })
    onTestFinished(() => limiter.close())
    for (let i = 0; i < 200; i += 1) await limiter.tryAcquire("k")
    expect((await limiter.tryAcquire("k")).source).toBe("lease")
    const { policies, gaps } = await limiter.inspect("k")
    expect(gaps).toBe(0)
    expect(policies[0]?.used).toBe(policies[0]?.stored?.values["used"])
    expect(policies[0]?.used).toBeGreaterThanOrEqual(201)
  })
})

test.each(policies)("memory and Redis report the same after random histories: %s", async (_, policy) => {
  for (let seed = 1; seed <= 8; seed += 1) {
    await client.flushall()
    const roll = dice(seed)
    const clock = manualClock()
    const sides = [memoryStore({ clock }), redisStore(ioredis(client), { clock, denyCache: false })].map(
      (store) => {
        const limiter = createLimiter({ name: "api", policy, store })
        const request: PolicyRequest = { ref: policyRef("api", "default"), key: "k", policy, cost: 1 }
        const booked: { at: number; receipt: readonly number[] }[] = []
        return {
          limiter,
          async book(cost: number) {
            const policies = [{ ...request, cost }]
            const { turn, receipt } = await store.decide({
              policies,
              count: 1,
              mode: "book",
              maxWait: 60_000_000,
            })
            if (turn !== undefined && receipt !== undefined) booked.push({ at: turn, receipt })
          },
          async leave(index: number) {
            const [turn] = booked.splice(index % Math.max(booked.length, 1), 1)
            if (turn !== undefined) await store.leave({ policies: [request], ...turn })
          },
        }
      },
    )
    const moves: ((side: (typeof sides)[0], number: number) => Promise<unknown>)[] = [
      ({ limiter }, number) => limiter.tryAcquire("k", { cost: 1 + (number % 2) }),
      ({ limiter }, number) => limiter.charge("k", 1 + (number % 3)),
      ({ limiter }) => limiter.refund("k", 1),
      ({ book }) => book(1),
      ({ book }) => book(1),
      ({ leave }, number) => leave(number),
      ({ leave }, number) => leave(number),
      ({ limiter }, number) => (number % 8 === 0 ? limiter.reset("k") : limiter.peek("k")),
    ]
    for (let step = 0; step < 60; step += 1) {
      const [move, number, pause] = [moves[roll(moves.length)], roll(64), roll(3) === 0 ? roll(3_000) : 0]
      clock.advance(pause)
      const seen: unknown[] = []
      for (const side of sides) {
        await move?.(side, number)
        const { policies, ...rest } = await side.limiter.inspect("k")
        seen.push({
          ...rest,
          policies: policies.map(({ stored, ...each }) => ({ ...each, values: stored?.values })),
        })
      }
      expect(seen[1], `seed ${seed}, step ${step}`).toEqual(seen[0])
    }
  }
})

describe("inspect without the store's help", () => {
  const policy = fixedWindow({ limit: 5, window: "1m" })
  const id = `${"0".repeat(32)}?default=3fw`

  test("a store that ignores inspections still shows levels and words, and the rest is left out", async () => {
    const base = memoryStore()
    const { inspect: _, ...plain } = { inspect: 0, ...base }
    const store: Store = { ...plain, decide: ({ inspect: _, ...request }) => base.decide(request) }
    const limiter = createLimiter({ name: "api", policy, store })
    await limiter.tryAcquire("k")
    const inspection = await limiter.inspect("k", { reservation: id })
    expect(inspection).toMatchObject({
      policies: [{ used: 1, words: expect.stringMatching(/^4 of 5 left/) }],
    })
    expect(Object.keys(inspection).sort()).toEqual(["degraded", "key", "mode", "policies", "reservation"])
    expect(inspection.reservation).toEqual({ id, charged: { default: 3 } })
    expect(inspection.policies[0]).not.toHaveProperty("stored")
    expect(inspection.policies[0]).not.toHaveProperty("lastTurnAfter")
  })

  const failing = (): Store => {
    const down = () => Promise.reject(new Error("down"))
    return { remote: true, decide: down, giveBack: down, leave: down, settle: down as never, forget: down }
  }

  test("in an outage with then: throw, it rejects with the error of the store", async () => {
    const limiter = createLimiter({ policy, store: failing() })
    for (let i = 0; i < 10; i += 1) await expect(limiter.inspect("k")).rejects.toThrow()
    await expect(limiter.inspect("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
  })

  test.each(["closed", "open", { local: 1 }] as const)(
    "in an outage with then: %j, it says that it is degraded and shows no stored state",
    async (then) => {
      const limiter = createLimiter({ policy, store: failing(), outage: { then } })
      const { id } = await limiter.reserve("k").catch(() => ({ id: `${"0".repeat(32)}?default=1fw` }))
      for (let i = 0; i < 10; i += 1) {
        const inspection = await limiter.inspect("k", { reservation: id })
        expect(inspection.degraded).toBe(true)
        expect(inspection).not.toHaveProperty("gaps")
        expect(inspection.policies[0]).not.toHaveProperty("stored")
        expect(inspection.reservation).toEqual({ id, charged: { default: 1 } })
      }
    },
  )
})
