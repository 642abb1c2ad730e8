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
import { costOfEach } from "../support/cost-of-each.js"
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

describe("with the server's clock", () => {
  test.each(Object.entries(policies))(
    "%s passes after retryAfter and not much earlier",
    async (name, policy) => {
      const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client)) })
      // Start in a fresh window: the test must not cross the end of one.
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
    "%s leaves no key one second after it is no longer needed",
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
    ["two buckets", { bucket, parted }],
    [
      "two intervals",
      { steps, slower: tokenBucket({ capacity: 1_000, refill: 1_000, every: "3s", mode: "interval" }) },
    ],
    ["several kinds", { bucket, steps, window }],
    ["logs", { log, merged }],
    ["buckets and a log", { bucket, log, steps }],
  ]

  /** How long the state under each key of a limiter is needed after a decision, in milliseconds. */
  const mattersFor = (policies: Record<string, Policy>, decisions: readonly PolicyDecision[]) => {
    const each = decisions.map(({ policy: name, resetAfter }) => {
      const policy = policies[name] as Policy
      // An interval bucket keeps its state for as long as it takes to fill.
      const isInterval = policy.algorithm === "tokenBucket" && policy.mode === "interval"
      return { name, ms: isInterval ? policy.every : resetAfter }
    })
    return (key: string) => {
      // The policy `default` is left out of a key: `sluice:{tag}limiter:key:policy:suffix`.
      const parts = key.split(":")
      const name = parts.length > 4 ? parts[3] : "default"
      return Math.max(...each.filter((one) => one.name === name).map(({ ms }) => ms))
    }
  }

  const expectKept = async (limiter: string, mattersFor: (key: string) => number, where: string) => {
    const keys = await client.keys(`*}${limiter}:k:*`)
    expect(keys.length, where).toBeGreaterThan(0)
    for (const key of keys) {
      const [ms, left] = [mattersFor(key), await client.pttl(key)]
      // Some milliseconds have passed since the decision.
      expect(left, `${key}, ${where}: it matters for ${ms} ms`).toBeGreaterThan(ms - 100)
      expect(left, `${key}, ${where}: it matters for ${ms} ms`).toBeLessThanOrEqual(ms + 1_000)
    }
  }

  // Concurrent, because the test mostly waits.
  test("a key that is written repeatedly expires at most one second after it is no longer needed", async () => {
    const inTurns = async (request: (turn: number) => Promise<unknown>) => {
      for (let turn = 0; turn < 12; turn += 1) {
        await request(turn)
        await sleep(130 + 37 * (turn % 5))
      }
    }
    const ofOneLimiter = kept.map(async ([layout, policy]) => {
      const name = `kept ${layout}`
      const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client)) })
      await inTurns(async (turn) => {
        const cost = 30 + turn
        // Twice in one call, with different costs.
        const requests = [cost, cost + 1].map((each) =>
          limiter.tryAcquire("k", { cost: costOfEach(policy, each) }),
        )
        const last = (await Promise.all(requests))[1] as Decision
        const policies = "algorithm" in policy ? { default: policy as Policy } : policy
        await expectKept(name, mattersFor(policies, last.policies ?? [last]), `turn ${turn}`)
      })
    })
    const ofTwo = async () => {
      const store = redisStore(ioredis(client))
      const ones = createLimiter({ name: "kept ones", policy: bucket, store })
      const others = createLimiter({ name: "kept others", policy: steps, store })
      await inTurns(async (turn) => {
        await combine([ones.on("k", { cost: 60 }), others.on("k", { cost: 1 + turn })]).tryAcquire()
        const { resetAfter } = await ones.peek("k")
        await expectKept("kept ones", () => resetAfter, `turn ${turn}`)
        await expectKept("kept others", () => steps.every, `turn ${turn}`)
      })
    }
    await Promise.all([...ofOneLimiter, ofTwo()])
  })

  test("with the caller's clock, keys are kept for another minute", async () => {
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
