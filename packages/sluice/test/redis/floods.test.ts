import { Redis } from "ioredis"
import {
  combine,
  createLimiter,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { policyRef } from "sluice/store"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"

/** How many requests an attacker sends for each kind of denial. */
const ASKS = 4_000
const LIMIT = 5

const policies: Record<string, Policy> = {
  fixedWindow: fixedWindow({ limit: LIMIT, window: "1h" }),
  slidingLog: slidingLog({ limit: LIMIT, window: "1h" }),
  slidingWindow: slidingWindow({ limit: LIMIT, window: "1h" }),
  tokenBucket: tokenBucket({ capacity: LIMIT, refill: LIMIT, every: "1h" }),
  leakyBucket: leakyBucket({ capacity: LIMIT, leak: LIMIT, every: "1h" }),
}

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
beforeEach(() => client.flushall())

const figure = async (section: string, name: string) =>
  Number(new RegExp(`${name}:(\\d+)`).exec(String(await command(server.port, "INFO", section)))?.[1])

/** The whole state of the server: every key with its value and expiry, and the number of changes so far. */
async function kept() {
  const keys = (await client.keys("*")).sort()
  const states = await Promise.all(
    keys.map(async (key) => [key, await client.dump(key), await client.pexpiretime(key)]),
  )
  return { states, changes: await figure("persistence", "rdb_changes_since_last_save") }
}

/** Sends that many requests, some at a time, and counts those that pass. */
async function flood(request: (n: number) => Promise<boolean>): Promise<number> {
  let allowed = 0
  for (let first = 0; first < ASKS; first += 2_000) {
    const requests = Array.from({ length: 2_000 }, (_, i) => request(first + i))
    for (const passed of await Promise.all(requests)) if (passed) allowed += 1
  }
  return allowed
}

/** A shared limiter and one per key, on a store without a deny cache. */
function limitersOf(policy: Policy) {
  const store = redisStore(ioredis(client), { denyCache: false })
  return {
    everybody: createLimiter({ name: "everybody", policy, store }),
    mine: createLimiter({ name: "mine", policy, store }),
    /** Requests a turn or a reservation under both policies, directly from the store. */
    async ask(key: string, mode: "book" | "reserve"): Promise<boolean> {
      const part = (limiter: string, key: string) => ({
        ref: policyRef(limiter, "default"),
        key,
        policy,
        cost: 1,
      })
      const policies = [part("everybody", "all"), part("mine", key)]
      const note = { ref: { ref: policyRef("mine", "note"), key }, lasts: 1e9 }
      const { granted } = await store.decide(
        mode === "book" ? { policies, count: 1, mode, maxWait: 1e6 } : { policies, count: 1, mode, note },
      )
      return granted > 0
    },
  }
}

type Way = (limiters: ReturnType<typeof limitersOf>, key: string) => Promise<boolean>

const tooMuch = { cost: LIMIT + 1 }
const waysOfNewKeys: Record<string, Way> = {
  "a cost above the limit": async ({ mine }, key) => (await mine.tryAcquire(key, tooMuch)).allowed,
  "a turn that would never come": async ({ mine }, key) =>
    (await mine.tryAcquire(key, { ...tooMuch, timeout: "1s" })).allowed,
  "a reservation above the limit": async ({ mine }, key) =>
    (await mine.reserve(key, tooMuch)).decision.allowed,
  "a limit of everybody that is exhausted": async ({ everybody, mine }, key) =>
    (await combine([everybody.on("all"), mine.on(key)]).tryAcquire()).allowed,
  "a turn under it": ({ ask: request }, key) => request(key, "book"),
  "a reservation under it": ({ ask: request }, key) => request(key, "reserve"),
}
const waysOfSpentKeys: Record<string, Way> = {
  "an ask": async ({ mine }, key) => (await mine.tryAcquire(key)).allowed,
  "an ask for a turn": async ({ mine }, key) => (await mine.tryAcquire(key, { timeout: "1s" })).allowed,
  "an ask for a reservation": async ({ mine }, key) => (await mine.reserve(key)).decision.allowed,
}

describe.each(Object.entries(policies))("a flood that is denied under a %s", (_, policy) => {
  test("leaves no trace of 24,000 keys that were never allowed", async () => {
    const limiters = limitersOf(policy)
    await limiters.everybody.tryAcquire("all", { cost: LIMIT })
    for (const way of Object.values(waysOfNewKeys)) await way(limiters, "loads the scripts")
    const before = await kept()
    const memory = await figure("memory", "used_memory_dataset")
    for (const [name, way] of Object.entries(waysOfNewKeys)) {
      expect(await flood((n) => way(limiters, `${name}, ${n}`)), name).toBe(0)
      expect(await kept(), name).toEqual(before)
    }
    expect(before.states).toHaveLength(1)
    // A key takes about 90 bytes.
    expect((await figure("memory", "used_memory_dataset")) - memory).toBeLessThan(ASKS * 10)
  })

  test("changes nothing in exhausted keys", async () => {
    const limiters = limitersOf(policy)
    const keyOf = (n: number) => `spent-${n % 100}`
    for (let n = 0; n < 100; n += 1) await limiters.mine.tryAcquire(keyOf(n), { cost: LIMIT })
    const before = await kept()
    for (const [name, way] of Object.entries(waysOfSpentKeys)) {
      expect(await flood((n) => way(limiters, keyOf(n))), name).toBe(0)
      expect(await kept(), name).toEqual(before)
    }
    expect(before.states).toHaveLength(100)
  })
})
