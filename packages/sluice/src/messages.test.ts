import { inspect } from "node:util"
import { Redis as UpstashRedis } from "@upstash/redis"
import { Cluster, Redis } from "ioredis"
import {
  combine,
  createLimiter,
  type Decision,
  type Duration,
  fixedWindow,
  memoryStore,
  SluiceError,
  tokenBucket,
} from "sluice"
import { ioredis, ioredisClusterSettings, ioredisSettings } from "sluice/redis"
import { chai, describe, expect, onTestFinished, test, vi } from "vitest"

const policy = fixedWindow({ limit: 10, window: "1m" })

test("a duration can have a space before its unit", () => {
  const window: Duration = "1 m"
  expect(fixedWindow({ limit: 1, window })).toMatchObject({ window: 60_000 })
  expect(fixedWindow({ limit: 1, window: "250 ms" })).toMatchObject({ window: 250 })
  for (const wrong of ["1  m", " 1m", "1m ", "1\tm", "1"]) {
    expect(() => fixedWindow({ limit: 1, window: wrong as Duration })).toThrow("window must be")
  }
})

test("printers show a limiter by its name, and do not call its method inspect", async () => {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown) => unhandled.push(reason)
  process.on("unhandledRejection", onUnhandled)
  onTestFinished(() => {
    process.off("unhandledRejection", onUnhandled)
  })
  const limiter = createLimiter({ name: "api", policy })
  // A call of a closed limiter would reject.
  await limiter.close()
  expect(inspect(limiter)).toBe('Limiter "api"')
  expect(inspect({ limiter })).toBe('{ limiter: Limiter "api" }')
  expect(chai.util.inspect(limiter)).toBe('Limiter "api"')
  expect(() => chai.assert.strictEqual<unknown>(limiter, 5)).toThrow('expected Limiter "api" to equal 5')
  expect(() => expect(limiter).toBe(5)).toThrow(/api/)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(unhandled).toEqual([])
})

test("an error without a decision prints none", () => {
  expect(inspect(new SluiceError("CLOSED", "closed"))).not.toContain("decision")
  const decision = { allowed: false } as Decision
  expect(inspect(new SluiceError("QUEUE_FULL", "full", { decision }))).toContain("decision")
  expect(new SluiceError("QUEUE_FULL", "full", { decision }).decision).toBe(decision)
})

describe("the error of createLimiter suggests a fix for", () => {
  test.each([
    ["a client of ioredis", { evalsha() {}, eval() {} }, "redisStore(ioredis(client))"],
    [
      "a client of @upstash/redis",
      new UpstashRedis({ url: "https://redis.example", token: "t" }),
      "redisStore(upstash(client))",
    ],
    ["a client of node-redis", { evalSha() {}, eval() {} }, "redisStore(nodeRedis(client))"],
    ["a client of valkey-glide", { customCommand() {} }, "redisStore(glide(client))"],
    ["an adapter", { run() {} }, "redisStore(client)"],
  ])("a store that is %s", (_, store, hint) => {
    expect(() => createLimiter({ policy, store: store as never })).toThrow(hint)
  })

  test("a policy function that is async", async () => {
    const limiter = createLimiter({ policy: (async () => policy) as never })
    await expect(limiter.tryAcquire("k")).rejects.toMatchObject({
      code: "INVALID_POLICY",
      message: expect.stringContaining("look the plan up first, then pass it: tryAcquire(key, { policy })"),
    })
  })

  test("a name that another limiter has, also after a reload in development", () => {
    const store = memoryStore()
    createLimiter({ name: "api", policy, store })
    const again = () =>
      createLimiter({ name: "api", policy: fixedWindow({ limit: 11, window: "1m" }), store })
    expect(again).toThrow("after a hot reload, close the old limiter")
  })
})

test("the error of combine says that it takes an array", () => {
  const limiter = createLimiter({ policy })
  const wrong = combine as unknown as (...claims: unknown[]) => unknown
  expect(() => wrong(limiter.on("a"), limiter.on("b"))).toThrow("combine takes an array: combine([")
})

test("a cost can name only policies that all plans have", async () => {
  const free = { daily: policy }
  const paid = { daily: policy, tokens: tokenBucket({ capacity: 10, refill: 1, every: "1s" }) }
  const limiter = createLimiter({ policy: (key: string) => (key === "free" ? free : paid) })
  expect(await limiter.tryAcquire("free", { cost: { daily: 2 } })).toMatchObject({ remaining: 8 })
  // @ts-expect-error: the free plan has no tokens
  await expect(limiter.tryAcquire("free", { cost: { tokens: 2 } })).rejects.toThrow("cost names")
  // If the plan is known, pass it in the call.
  expect(await limiter.tryAcquire("paid", { policy: paid, cost: { tokens: 2 } })).toMatchObject({
    remaining: 8,
  })
})

describe("the adapter for ioredis", () => {
  const single = (options: object) => new Redis({ lazyConnect: true, ...options })
  const cluster = (options: object) =>
    new Cluster([{ host: "127.0.0.1", port: 1 }], { lazyConnect: true, ...options })

  test("warns once about settings with which the client repeats calls, and not about the safe ones", () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
    ioredis(single(ioredisSettings))
    ioredis(cluster(ioredisClusterSettings))
    expect(warned).not.toHaveBeenCalled()
    for (let i = 0; i < 3; i += 1) {
      ioredis(single({}))
      ioredis(cluster({ redisOptions: ioredisSettings }))
    }
    expect(warned.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining("new Redis({ ...ioredisSettings, … })"),
      expect.stringContaining("new Cluster(nodes, { ...ioredisClusterSettings, … })"),
    ])
    warned.mockRestore()
  })
})
