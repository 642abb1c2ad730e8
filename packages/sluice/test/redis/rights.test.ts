import { Redis } from "ioredis"
import {
  createLimiter,
  fixedWindow,
  type Store,
  scopeOf,
  slidingLog,
  slidingWindow,
  type Turn,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { encodeAsks, type SentAsk } from "../../src/stores/redis/call.js"
import { RedisKeys } from "../../src/stores/redis/redis-keys.js"
import { decodeAnswers } from "../../src/stores/redis/reply.js"
import { scripts } from "../../src/stores/redis/scripts.generated.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { commandsIn, rightsFor, ruleIn } from "../support/rights.js"

const rule = ruleIn("redis.md")
const rights = rule.filter((word) => word.startsWith("+"))

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

/** Calls everything there is to call, on every kind of state. */
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
    await limiter.tryAcquire("k", { cost: 40 })
    clock.advance(60)
    await limiter.tryAcquire("k", { policy: { log }, cost: 45 })
    await limiter.tryAcquire("k", { policy: { log } })
    await limiter.refund("k", 3)
    await limiter.charge("k", 70)
    const { cancel } = await limiter.reserve("reserved", { cost: 3 })
    await cancel()
    for (const each of [log, policy.merged]) {
      const parts = [{ scope: scopeOf(name, "line"), key: "k", policy: each, cost: 30 }]
      const turns: Turn[] = []
      for (let i = 0; i < 3; i += 1) {
        const { turn, marks } = await store.ask({ parts, count: 1, mode: "book", maxWait: 1e9 })
        turns.push({ parts, at: turn as number, marks: marks as number[] })
      }
      for (const turn of turns.toReversed()) await store.leave(turn)
    }
    await limiter.reset("k")
  }
  await use("by the server's clock", redisStore(ioredis(client)))
  await use("by the caller's clock", redisStore(ioredis(client), { clock }))
}

const partOf = (limiter: string) => ({
  scope: scopeOf(limiter, "default"),
  key: "k",
  policy: tokenBucket({ capacity: 9, refill: 1, every: "1m" }),
  cost: 1,
})

async function succeedsWith(words: readonly string[]): Promise<boolean> {
  await admin.call("ACL", "DELUSER", "sluice")
  // what ioredis wants for itself
  await admin.call("ACL", "SETUSER", ...words, "+info")
  await admin.flushall()
  await admin.script("FLUSH")
  const options = { username: "sluice", password: "secret" }
  const client = new Redis(server.port, server.host, options).on("error", () => {})
  const used = useEverything(client).then(
    () => true,
    () => false,
  )
  return used.finally(() => client.disconnect())
}

describe("the rights named in the docs", () => {
  test("are those that the scripts need, and no others", () => {
    const head = ["sluice", "on", ">secret", "resetkeys", "~sluice:1:*", "-@all"]
    expect(rule.join(" ")).toBe([...head, ...rightsFor(scripts)].join(" "))
  })

  test("would not be known of a script that calls a command by another way", () => {
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

  test("are enough", async () => {
    expect(rights.length).toBeGreaterThan(10)
    expect(await succeedsWith(rule)).toBe(true)
  })

  const without = (right: string) => succeedsWith(rule.filter((word) => word !== right))
  // one only tells sooner that a key is new, the other only writes faster
  const dispensable = ["+exists", "+setrange"]

  test.each(rights.filter((right) => !dispensable.includes(right)))(
    "would not be without %s",
    async (right) => {
      expect(await without(right)).toBe(false)
    },
  )

  test.each(dispensable)("are enough without %s too, for those who have an older line", async (right) => {
    expect(rights).toContain(right)
    expect(await without(right)).toBe(true)
  })

  test("without +setrange keep asks in the lane", async () => {
    await admin.flushall()
    await admin.call("ACL", "SETUSER", "writer", "on", ">secret", "~*", "+@all", "-setrange")
    const client = new Redis(server.port, server.host, { username: "writer", password: "secret" })
    const policy = fixedWindow({ limit: 9, window: "365d" })
    const behind = "local plain, writers, sizes"
    for (const part of [partOf("bucket"), { ...partOf("window"), policy }]) {
      const asks: SentAsk[] = [{ parts: [part], mode: "spend", count: 1, follows: false }]
      const { script, keys, args } = encodeAsks(new RedisKeys("rights"), "", asks)
      expect(script.source).toContain(behind)
      const source = script.source.replace(behind, `error("left the lane")\n${behind}`)
      for (let times = 0; times < 3; times += 1) {
        const reply = await client.eval(source, keys.length, ...keys, ...args)
        expect(decodeAnswers(asks, reply)).toMatchObject([{ granted: 1 }])
      }
    }
    const stats = await admin.info("commandstats")
    expect(stats).toMatch(/cmdstat_setrange:.*rejected_calls=[1-9]/)
    client.disconnect()
  })

  test("that are missing to some asks of a call keep no others from their answers", async () => {
    await admin.flushall()
    await admin.call("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@all", "-mget")
    const client = new Redis(server.port, server.host, { username: "reader", password: "secret" })
    const names = new RedisKeys("rights")
    const log = { ...partOf("log"), policy: slidingLog({ limit: 9, window: "1m" }) }
    const bucket = partOf("bucket")
    for (const follows of [false, true]) {
      const asks: SentAsk[] = [
        { parts: [log], mode: "give", count: -1, follows: false },
        { parts: [bucket], mode: "spend", count: 1, follows },
        { parts: [bucket], mode: "peek", count: 1, follows },
      ]
      const { script, keys, args } = encodeAsks(names, "", asks)
      const reply = await client.eval(script.source, keys.length, ...keys, ...args)
      expect(decodeAnswers(asks, reply)).toMatchObject([{ granted: 0 }, { granted: 1 }, { granted: 1 }])
    }
    client.disconnect()
  })
})
