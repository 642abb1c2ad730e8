import { once } from "node:events"
import { Redis as Upstash } from "@upstash/redis"
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, slidingLog, tokenBucket } from "sluice"
import { ioredis, nodeRedis, redisStore, upstash, upstashSettings } from "sluice/redis"
import { conformance } from "sluice/testing"
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { redisWorkshop, type Workshop } from "../support/rigs.js"
import { startUpstash, type UpstashServer } from "../support/upstash-server.js"

let redis: RedisServer
let server: UpstashServer
let admin: Redis
beforeAll(async () => {
  redis = await startRedis()
  server = await startUpstash(redis.port)
  admin = new Redis(redis.port, redis.host)
})
beforeEach(async () => {
  server.intercept = undefined
  server.commands.length = 0
})
afterAll(async () => {
  admin.disconnect()
  await server.close()
  await redis.stop()
})

const connect = (settings: object = {}) => {
  const { url, token } = server
  return new Upstash({ ...upstashSettings, url, token, enableTelemetry: false, ...settings })
}

const forgetCode = async () => {
  await admin.script("FLUSH")
  await admin.call("FUNCTION", "FLUSH")
}

const policy = {
  burst: tokenBucket({ capacity: 50, refill: 1, every: "1h" }),
  all: slidingLog({ limit: 20, window: "1h" }),
}

describe("a store in Redis through @upstash/redis", () => {
  let workshop: Workshop
  beforeAll(async () => {
    const clients = Array.from({ length: 4 }, () => upstash(connect()))
    workshop = await redisWorkshop(redis, clients, async () => {})
  })
  afterAll(() => workshop.close())

  // Every law, but not every policy: over HTTP all of it takes more than a minute.
  const some = conformance.filter(
    ({ name }) =>
      !name.includes("thousand") && /^[^(]*$|\((fixedWindow|slidingLog|tokenBucket)\)$/.test(name),
  )
  for (const { law, name, run } of some) {
    test(`law ${law}: ${name}`, async () => run(await workshop.rig()))
  }
})

describe("a server that lacks the Lua library", () => {
  beforeEach(async () => {
    await admin.flushall()
    await forgetCode()
  })

  test("gets it as a function with the first call", async () => {
    const limiter = createLimiter({ policy, store: redisStore(upstash(connect())) })
    expect((await limiter.tryAcquire("k")).remaining).toBe(19)
    await vi.waitFor(() => expect(server.commands).toEqual(["FCALL", "FUNCTION", "EVAL"]))
    await vi.waitFor(async () => {
      expect((await limiter.tryAcquire("k")).allowed).toBe(true)
      expect(server.commands.at(-1)).toBe("FCALL")
    })
    await limiter.close()
  })

  test.each([
    "ERR unknown command 'FCALL', with args beginning with: 'sluice' '1'",
    "ERR Command is not available: 'FCALL'. See https://upstash.com/docs for details",
  ])("gets it as a script if it has no functions: %s", async (error) => {
    server.intercept = ([name]) => (name === "FCALL" || name === "FUNCTION" ? { error } : undefined)
    const limiter = createLimiter({ policy, store: redisStore(upstash(connect())) })
    for (let i = 19; i >= 15; i -= 1) expect((await limiter.tryAcquire("k")).remaining).toBe(i)
    expect(server.commands).toEqual(["FCALL", "EVALSHA", "EVAL", "EVALSHA", "EVALSHA", "EVALSHA", "EVALSHA"])
    await forgetCode()
    expect((await limiter.tryAcquire("k")).remaining).toBe(14)
    await limiter.close()
  })

  test.each([
    {},
    { enableAutoPipelining: false },
    { automaticDeserialization: false },
    { responseEncoding: false },
  ])("grants exactly the limit to requests at once, with a client made with %o", async (settings) => {
    const store = redisStore(upstash(connect(settings)), { delivery: "script" })
    const limiter = createLimiter({ policy, store })
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.tryAcquire("k")))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20)
    await limiter.close()
  })
})

describe("a call that fails", () => {
  const once1 = fixedWindow({ limit: 1_000, window: "1h" })
  const limiterOn = (client: Upstash, prefix: string) =>
    createLimiter({ policy: once1, store: redisStore(upstash(client), { prefix, retryFor: 50 }) })

  test("after it ran is not sent again, and rejects as unknown", async () => {
    const limiter = limiterOn(connect(), "after")
    await limiter.tryAcquire("k")
    server.intercept = () => "break after"
    server.commands.length = 0
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    expect(server.commands).toHaveLength(1)
    server.intercept = undefined
    expect(await limiter.peek("k")).toMatchObject({ remaining: 998 })
    await limiter.close()
  })

  test("is not taken for one of another kind by what its key says", async () => {
    const limiter = limiterOn(connect(), "named")
    const keys = ["Function not found", "unknown command 'FCALL'", "NOSCRIPT"]
    for (const key of keys) await limiter.tryAcquire(key)
    server.intercept = () => ({ error: "ERR something else" })
    server.commands.length = 0
    for (const key of keys)
      await expect(limiter.tryAcquire(key)).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    expect(server.commands).toHaveLength(keys.length)
    await limiter.close()
  })

  test.each([
    ["ERR max daily request limit exceeded. Limit: 10000, Usage: 10000.", "STORE_REFUSED"],
    ["ERR max requests limit exceeded. Limit: 500000, Usage: 500000.", "STORE_REFUSED"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "STORE_REFUSED"],
    ["LOADING Redis is loading the dataset in memory", "STORE_REFUSED"],
    ["ERR timeout", "STORE_UNKNOWN"],
  ])("with %s rejects with %s", async (error, code) => {
    const limiter = limiterOn(connect(), "codes")
    server.intercept = () => ({ error })
    const failed = limiter.tryAcquire("k")
    await expect(failed).rejects.toMatchObject({ code })
    await expect(failed).rejects.not.toThrow("command was")
    await limiter.close()
  })

  test("because of a wrong token rejects as refused", async () => {
    const limiter = limiterOn(connect({ token: "wrong" }), "token")
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({ code: "STORE_REFUSED" })
    await limiter.close()
  })
})

test("an outage is answered by the outage policy, and ends with it", async () => {
  const second = await startUpstash(redis.port)
  const client = new Upstash({ ...upstashSettings, url: second.url, token: second.token })
  const limiter = createLimiter({
    policy: fixedWindow({ limit: 10, window: "1h" }),
    store: redisStore(upstash(client), { prefix: "outage", retryFor: 20 }),
    outage: { then: "closed" },
  })
  expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, degraded: false })
  const { port } = new URL(second.url)
  await second.close()
  for (let i = 0; i < 5; i += 1) {
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, degraded: true })
  }
  expect(limiter.health.reachable).toBe(false)
  const third = await startUpstash(redis.port, Number(port))
  await vi.waitFor(
    async () => {
      const decision = await limiter.tryAcquire("k")
      expect(decision).toMatchObject({ allowed: true, degraded: false, remaining: 8 })
    },
    { timeout: 5_000 },
  )
  await limiter.close()
  await third.close()
})

describe("upstash(client)", () => {
  test("warns once of clients that repeat requests", async () => {
    const warned = once(process, "warning")
    const { url, token } = server
    upstash(new Upstash({ url, token }))
    upstash(new Upstash({ url, token, retry: false }))
    const [warning] = await warned
    expect(String(warning)).toContain("upstashSettings")
  })

  test("refuses clients of other libraries, and they refuse its own", () => {
    expect(() => upstash(admin as never)).toThrow("this looks like a client for ioredis(client)")
    expect(() => ioredis(connect() as never)).toThrow("this looks like a client for upstash(client)")
    expect(() => nodeRedis(connect() as never)).toThrow("this looks like a client for upstash(client)")
  })
})
