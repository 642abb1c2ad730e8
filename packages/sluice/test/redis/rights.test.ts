import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Store, slidingLog, slidingWindow, tokenBucket } from "sluice"
import { ioredis, library, redisStore } from "sluice/redis"
import { policyRef, type Turn } from "sluice/store"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { commandsIn, rightsFor, ruleIn } from "../support/rights.js"

const preloaded = ruleIn("redis.md", 0)
const selfLoading = ruleIn("redis.md", 1)
const inner = rightsFor(library.text)

let server: RedisServer
let admin: Redis
beforeAll(async () => {
  server = await startRedis()
  admin = new Redis(server.port, server.host)
})
afterAll(async () => {
  admin.disconnect()
  await server.stop()
})

/** Calls every method, on every kind of state. */
async function useEverything(client: Redis): Promise<void> {
  const clock = manualClock()
  const log = slidingLog({ limit: 50, window: 100 })
  const policy = {
    bucket: tokenBucket({ capacity: 100, refill: 1, every: "1s" }),
    log,
    merged: slidingWindow({ limit: 50, window: "1m" }),
    fixed: fixedWindow({ limit: 100, window: "1m" }),
  }
  const use = async (name: string, store: Store) => {
    const limiter = createLimiter({ name, policy, store })
    for (let i = 0; i < 50; i += 1) {
      await limiter.tryAcquire("k")
      clock.advance(1)
    }
    const alone = { policy: { alone: policy.bucket } }
    await Promise.all([limiter.tryAcquire("k", alone), limiter.tryAcquire("l", alone)])
    await limiter.tryAcquire("k", { cost: { bucket: 40, log: 40, merged: 40, fixed: 40 } })
    clock.advance(60)
    await limiter.tryAcquire("k", { policy: { log }, cost: { log: 45 } })
    await limiter.tryAcquire("k", { policy: { log } })
    await limiter.refund("k", { bucket: 3, log: 3, merged: 3, fixed: 3 })
    await limiter.charge("k", { bucket: 70, log: 70, merged: 70, fixed: 70 })
    const { cancel } = await limiter.reserve("reserved", { cost: { bucket: 3, log: 3, merged: 3, fixed: 3 } })
    await cancel()
    for (const each of [log, policy.merged]) {
      const policies = [{ ref: policyRef(name, "line"), key: "k", policy: each, cost: 30 }]
      const turns: Turn[] = []
      for (let i = 0; i < 3; i += 1) {
        const { turn, receipt } = await store.decide({ policies, count: 1, mode: "book", maxWait: 1e9 })
        turns.push({ policies, at: turn as number, receipt: receipt as number[] })
      }
      for (const turn of turns.toReversed()) await store.leave(turn)
    }
    await limiter.reset("k")
  }
  await use("with the server's clock", redisStore(ioredis(client)))
  await use("by the caller's clock", redisStore(ioredis(client), { clock }))
}

async function succeedsWith(words: readonly string[]): Promise<boolean> {
  await admin.call("ACL", "DELUSER", "sluice")
  // The commands that ioredis itself needs.
  await admin.call("ACL", "SETUSER", ...words, "+info")
  await admin.flushall()
  await admin.script("FLUSH")
  await admin.call("FUNCTION", "FLUSH")
  if (!words.includes("+function|load")) await admin.call("FUNCTION", "LOAD", library.text)
  const options = { username: "sluice", password: "secret" }
  const client = new Redis(server.port, server.host, options).on("error", () => {})
  const used = useEverything(client).then(
    () => true,
    () => false,
  )
  return used.finally(() => client.disconnect())
}

describe("the rights in docs/redis.md", () => {
  test("are those of the commands that the library calls, and no others", () => {
    const head = ["sluice", "reset", "on", ">secret", "~sluice:*"]
    expect(preloaded).toEqual([...head, "+fcall", ...inner])
    expect(selfLoading).toEqual([...head, "+fcall", "+function|load", "+evalsha", "+eval", ...inner])
    expect(inner.length).toBeGreaterThan(10)
  })

  test("reading the commands fails on Lua that calls a command in another way", () => {
    expect(
      commandsIn('local call = redis.call\ncall("GET", key) call("SET", key, call("GET", key))'),
    ).toEqual(["get", "set", "get"])
    const hidden = [
      "call(name, key)",
      "pcall(call, name)",
      'redis.pcall("GET", key)',
      "local other = redis.call",
    ]
    for (const lua of hidden)
      expect(() => commandsIn(lua), lua).toThrow("not a call of a command by its name")
  })

  test("are enough for an application that loads the library itself", async () => {
    expect(await succeedsWith(selfLoading)).toBe(true)
  })

  test("are enough with a preloaded library", async () => {
    expect(await succeedsWith(preloaded)).toBe(true)
  })

  // Without these the library reads keys one by one, or writes more slowly.
  const dispensable = ["+mget", "+setrange"]

  test.each(inner.filter((right) => !dispensable.includes(right)))(
    "are not enough without %s",
    async (right) => {
      expect(await succeedsWith(preloaded.filter((word) => word !== right))).toBe(false)
    },
  )

  test.each(dispensable)("are enough without %s too", async (right) => {
    expect(inner).toContain(right)
    expect(await succeedsWith(preloaded.filter((word) => word !== right))).toBe(true)
  })
})
