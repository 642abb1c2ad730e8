import { Redis } from "ioredis"
import {
  combine,
  createLimiter,
  fixedWindow,
  leakyBucket,
  type Policy,
  scopeOf,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"

/** How often an attacker asks in each way of being denied. */
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

/** All that the server keeps: every key with its value and expiry, and how many changes it has ever made. */
async function kept() {
  const keys = (await client.keys("*")).sort()
  const states = await Promise.all(
    keys.map(async (key) => [key, await client.dump(key), await client.pexpiretime(key)]),
  )
  return { states, changes: await figure("persistence", "rdb_changes_since_last_save") }
}

/** Asks that often, some at a time, and counts those that were let through. */
async function flood(ask: (n: number) => Promise<boolean>): Promise<number> {
  let allowed = 0
  for (let first = 0; first < ASKS; first += 2_000) {
    const asks = Array.from({ length: 2_000 }, (_, i) => ask(first + i))
    for (const passed of await Promise.all(asks)) if (passed) allowed += 1
  }
  return allowed
}

/** Limiters of everybody and of each, on a store that asks the server every time. */
function limitersOf(policy: Policy) {
  const store = redisStore(ioredis(client), { denyCache: false })
  return {
    everybody: createLimiter({ name: "everybody", policy, store }),
    mine: createLimiter({ name: "mine", policy, store }),
    /** Asks for a turn or a reservation under both, which only a store can be asked for. */
    async ask(key: string, mode: "book" | "reserve"): Promise<boolean> {
      const part = (limiter: string, key: string) => ({
        scope: scopeOf(limiter, "default"),
        key,
        policy,
        cost: 1,
      })
      const parts = [part("everybody", "all"), part("mine", key)]
      const note = { place: { scope: scopeOf("mine", "note"), key }, lasts: 1e9 }
      const { granted } = await store.ask(
        mode === "book" ? { parts, count: 1, mode, maxWait: 1e6 } : { parts, count: 1, mode, note },
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
  "a turn under it": ({ ask }, key) => ask(key, "book"),
  "a reservation under it": ({ ask }, key) => ask(key, "reserve"),
}
const waysOfSpentKeys: Record<string, Way> = {
  "an ask": async ({ mine }, key) => (await mine.tryAcquire(key)).allowed,
  "an ask for a turn": async ({ mine }, key) => (await mine.tryAcquire(key, { timeout: "1s" })).allowed,
  "an ask for a reservation": async ({ mine }, key) => (await mine.reserve(key)).decision.allowed,
}

describe.each(Object.entries(policies))("a flood that is denied under a %s", (_, policy) => {
  test("leaves nothing of 24,000 keys that were never let through", async () => {
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
    // a key takes some ninety bytes
    expect((await figure("memory", "used_memory_dataset")) - memory).toBeLessThan(ASKS * 10)
  })

  test("changes nothing of keys that have nothing left", async () => {
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
