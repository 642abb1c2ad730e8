import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import {
  combine,
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  type Policies,
  type Policy,
  type PolicyDecision,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { redisKey } from "../support/redis-key.js"
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

const policies = {
  fixedWindow: fixedWindow({ limit: 3, window: 400 }),
  aligned: fixedWindow({ limit: 3, window: 400, align: "clock" }),
  slidingLog: slidingLog({ limit: 3, window: 400 }),
  slidingWindow: slidingWindow({ limit: 3, window: 400 }),
  tokenBucket: tokenBucket({ capacity: 3, refill: 3, every: 400 }),
  interval: tokenBucket({ capacity: 3, refill: 3, every: 400, mode: "interval" }),
  leakyBucket: leakyBucket({ capacity: 3, leak: 3, every: 400 }),
}

describe("by the server's clock", () => {
  test.each(Object.entries(policies))(
    "%s passes after retryAfter and not long before",
    async (name, policy) => {
      const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client)) })
      // into a fresh window: the drain must not straddle an edge
      if (name === "aligned") await sleep(410 - (Date.now() % 400))
      expect((await limiter.tryAcquire("k", { cost: 3 })).allowed).toBe(true)
      const { allowed, retryAfter } = await limiter.tryAcquire("k", { cost: 3 })
      expect(allowed).toBe(false)
      expect(retryAfter).toBeGreaterThan(0)
      expect(retryAfter).toBeLessThanOrEqual(400)
      await sleep(retryAfter + 2)
      expect((await limiter.tryAcquire("k", { cost: 3 })).allowed).toBe(true)
    },
  )

  test.each(Object.entries(policies))(
    "%s leaves no key a second after it stopped mattering",
    async (name, policy) => {
      const limiter = createLimiter({ name: `expiring ${name}`, policy, store: redisStore(ioredis(client)) })
      const { resetAfter } = await limiter.tryAcquire("k", { cost: 2 })
      const [key] = await client.keys(`*expiring ${name}:k*`)
      const left = await client.pttl(key as string)
      expect(left).toBeGreaterThan(resetAfter - 5)
      expect(left).toBeLessThanOrEqual(Math.max(resetAfter, name === "interval" ? 400 : 0) + 1_000)
      await sleep(left + 5)
      expect(await client.exists(key as string)).toBe(0)
    },
  )

  const roomy = {
    window: fixedWindow({ limit: 1_000, window: "2s" }),
    aligned: fixedWindow({ limit: 1_000, window: "2s", align: "clock" }),
    log: slidingLog({ limit: 1_000, window: "2s" }),
    merged: slidingWindow({ limit: 1_000, window: "2s" }),
    bucket: tokenBucket({ capacity: 1_000, refill: 1_000, every: "2s" }),
    parted: tokenBucket({ capacity: 1_000, refill: 700, every: "2s" }),
    steps: tokenBucket({ capacity: 1_000, refill: 1_000, every: "2s", mode: "interval" }),
    leaky: leakyBucket({ capacity: 1_000, leak: 1_000, every: "2s" }),
  }
  const { window, log, merged, bucket, parted, steps } = roomy
  const kept: [name: string, policy: Policies][] = [
    ...Object.entries(roomy),
    ["a record", { bucket, parted }],
    [
      "a record of steps",
      { steps, slower: tokenBucket({ capacity: 1_000, refill: 1_000, every: "3s", mode: "interval" }) },
    ],
    ["a record of several kinds", { bucket, steps, window }],
    ["logs", { log, merged }],
    ["a record and a log", { bucket, log, steps }],
  ]

  /** How long what is under each key of a limiter matters after a decision, in milliseconds. */
  const mattersFor = (policies: Record<string, Policy>, decisions: readonly PolicyDecision[]) => {
    const each = decisions.map(({ policy: name, resetAfter }) => {
      const policy = policies[name] as Policy
      // steps are remembered for as long as any bucket takes to fill
      const isStepwise = policy.algorithm === "tokenBucket" && policy.mode === "interval"
      const inRecord = name !== "default" && !policy.algorithm.startsWith("sliding")
      return { name: inRecord ? "" : name, ms: isStepwise ? policy.every : resetAfter }
    })
    return (key: string) => {
      const name = key.split(":").at(-2)
      return Math.max(...each.filter((one) => one.name === name).map(({ ms }) => ms))
    }
  }

  const expectKept = async (limiter: string, mattersFor: (key: string) => number, where: string) => {
    const keys = await client.keys(`*:${limiter}:k:*`)
    expect(keys.length, where).toBeGreaterThan(0)
    for (const key of keys) {
      const [ms, left] = [mattersFor(key), await client.pttl(key)]
      // some milliseconds have passed since it was decided
      expect(left, `${key}, ${where}: it matters for ${ms} ms`).toBeGreaterThan(ms - 100)
      expect(left, `${key}, ${where}: it matters for ${ms} ms`).toBeLessThanOrEqual(ms + 1_000)
    }
  }

  // all at once: most of it is waiting
  test("a key that is written again and again expires when it stops mattering, and within a second of that", async () => {
    const inTurns = async (ask: (turn: number) => Promise<unknown>) => {
      for (let turn = 0; turn < 12; turn += 1) {
        await ask(turn)
        await sleep(130 + 37 * (turn % 5))
      }
    }
    const ofOneLimiter = kept.map(async ([layout, policy]) => {
      const name = `kept ${layout}`
      const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client)) })
      await inTurns(async (turn) => {
        const cost = 1 + turn
        // twice in a call, at different costs
        const asks = [limiter.tryAcquire("k", { cost }), limiter.tryAcquire("k", { cost: cost + 1 })]
        const last = (await Promise.all(asks))[1] as Decision
        const policies = "algorithm" in policy ? { default: policy as Policy } : policy
        await expectKept(name, mattersFor(policies, last.policies ?? [last]), `turn ${turn}`)
      })
    })
    const ofTwo = async () => {
      const store = redisStore(ioredis(client))
      const ones = createLimiter({ name: "kept ones", policy: bucket, store })
      const others = createLimiter({ name: "kept others", policy: steps, store })
      await inTurns(async (turn) => {
        await combine([ones.on("k"), others.on("k", { cost: 1 + turn })]).tryAcquire()
        const { resetAfter } = await ones.peek("k")
        await expectKept("kept ones", () => resetAfter, `turn ${turn}`)
        await expectKept("kept others", () => steps.every, `turn ${turn}`)
      })
    }
    await Promise.all([...ofOneLimiter, ofTwo()])
  })

  test("a clock of the caller's own sees keys kept for another minute", async () => {
    const limiter = createLimiter({
      name: "own",
      policy: policies.tokenBucket,
      store: redisStore(ioredis(client), { clock: Date.now }),
    })
    const { resetAfter } = await limiter.tryAcquire("k")
    const left = await client.pttl(redisKey("own", "k", "default", "tb"))
    expect(left).toBeGreaterThan(60_000)
    expect(left).toBeLessThanOrEqual(resetAfter + 61_000)
  })
})
