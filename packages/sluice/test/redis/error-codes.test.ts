import { readFileSync } from "node:fs"
import { Redis } from "ioredis"
import {
  createLimiter,
  type ErrorCode,
  fixedWindow,
  leakyBucket,
  memoryStore,
  SluiceError,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { redissonRateLimiter } from "sluice/redisson"
import { createRules } from "sluice/rules"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { strict } from "../support/clients.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis({ ...strict, port: server.port, host: server.host, lazyConnect: true }).on(
    "error",
    () => {},
  )
  await redis.connect()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const perHour = tokenBucket({ capacity: 1, refill: 1, every: "1h" })
const local = (policy = perHour, options: object = {}) => createLimiter({ name: "codes", policy, ...options })
const onRedis = (options: object = {}) =>
  createLimiter({ name: "codes", policy: perHour, store: redisStore(ioredis(redis)), ...options })

interface Way {
  /** The action of a caller, through the public API alone. */
  readonly act: () => unknown
  readonly says: RegExp
}

/** Ways to reach every code. A missing code is a type error, and fails the first test. */
const ways: Record<ErrorCode, Record<string, Way>> = {
  INVALID_POLICY: {
    "a limit that is not an integer": {
      act: () => fixedWindow({ limit: 1.5, window: "1s" }),
      says: /^limit must be an integer .*got 1\.5$/,
    },
    "an invalid policy": {
      act: () => local("10 a second" as never),
      says: /must be a policy or a record of policies, got "10 a second"$/,
    },
  },
  INVALID_OPTION: {
    "an unknown option": {
      act: () => local(perHour, { leese: true }),
      says: /^createLimiter has no field "leese"; it takes name, policy, store, lease, /,
    },
    "an unknown option of a call": {
      act: () => local().tryAcquire("k", { costs: 1 } as never),
      says: /^a request has no field "costs"; it takes cost, policy, timeout, signal$/,
    },
  },
  INVALID_KEY: {
    "an empty key": {
      act: () => local().tryAcquire(""),
      says: /must be a non-empty string, got ""$/,
    },
  },
  INVALID_COST: {
    "a fractional cost": {
      act: () => local().tryAcquire("k", { cost: 0.5 }),
      says: /must be an integer, 1 or more, got 0\.5$/,
    },
    "more permits than the rate": {
      act: async () => {
        const limiter = redissonRateLimiter(ioredis(redis), "small")
        await limiter.trySetRate("OVERALL", 5, "1m")
        await limiter.tryAcquire(6)
      },
      says: /6 permits of 5\. Request fewer at a time$/,
    },
  },
  NAME_TAKEN: {
    "two limiters of one name with different policies": {
      act: () => {
        const store = memoryStore()
        local(perHour, { store })
        local(tokenBucket({ capacity: 2, refill: 1, every: "1h" }), { store })
      },
      says: /\. Rename or close one of them; after a hot reload, close the old limiter$/,
    },
  },
  NOT_INITIALIZED: {
    "a Redisson limiter without a rate": {
      act: () => redissonRateLimiter(ioredis(redis), "nobody's").tryAcquire(1),
      says: /has no rate\. Call trySetRate, or set option config$/,
    },
  },
  CLOSED: {
    "a limiter after close()": {
      act: async () => {
        const limiter = local()
        await limiter.close()
        await limiter.tryAcquire("k")
      },
      says: /^limiter "codes" is closed/,
    },
    "a Redisson limiter after close()": {
      act: async () => {
        const limiter = redissonRateLimiter(ioredis(redis), "closed")
        await limiter.close()
        await limiter.acquire(1)
      },
      says: /\. Close it after the last call, or create another$/,
    },
  },
  QUEUE_FULL: {
    "more waiters than maxWaiters": {
      act: async () => {
        const limiter = local(perHour, { maxWait: "10h", maxWaiters: 1 })
        await limiter.acquire("k")
        const first = limiter.acquire("k").catch(() => {})
        onTestFinished(async () => {
          await limiter.close()
          await first
        })
        await limiter.acquire("k")
      },
      says: /^queue full: 1 request waits in limiter "codes".*retry in \d+ ms.*maxWaiters$/,
    },
    "more waiters than a leaky bucket holds": {
      act: async () => {
        const limiter = local(leakyBucket({ capacity: 1, leak: 1, every: "1h" }) as never, { maxWait: "10h" })
        const first = limiter.acquire("k").catch(() => {})
        const second = limiter.acquire("k").catch(() => {})
        onTestFinished(async () => {
          await limiter.close()
          await Promise.all([first, second])
        })
        await Promise.all([limiter.acquire("k"), limiter.acquire("k")])
      },
      says: /^queue full: policy "default" of limiter "codes" holds 1 unit; retry in \d+ ms, or shed the work$/,
    },
  },
  WAIT_TOO_LONG: {
    "a turn past maxWait": {
      act: async () => {
        const limiter = local()
        await limiter.acquire("k")
        await limiter.acquire("k")
      },
      says: /past maxWait, 60000 ms; shed the work, or raise maxWait$/,
    },
    "a cost that is never granted": {
      act: () => local().acquire("k", { cost: 2 }),
      says: /; lower the cost, or raise the limit$/,
    },
  },
  BLOCKED: {
    "a key that a rule blocks": {
      act: async () => {
        const store = memoryStore()
        const rules = createRules(store)
        onTestFinished(() => rules.close())
        const limiter = local(perHour, { store, rules })
        await rules.block({ limiter: "codes", key: "k" })
        await limiter.acquire("k")
      },
      says: /^a rule of limiter "codes" blocks this key$/,
    },
  },
  STORE_REFUSED: {
    "a server out of memory": {
      act: async () => {
        await command(server.port, "CONFIG", "SET", "maxmemory", 1)
        onTestFinished(async () => {
          await command(server.port, "CONFIG", "SET", "maxmemory", 0)
        })
        await onRedis().tryAcquire("full")
      },
      says: /^Redis did not run the call, it is safe to retry: OOM /,
    },
    "a client without a connection": {
      act: async () => {
        const nobody = new Redis({ ...strict, port: 1, host: server.host }).on("error", () => {})
        onTestFinished(() => nobody.disconnect())
        await onRedis({ store: redisStore(ioredis(nobody)) }).tryAcquire("offline")
      },
      says: /its "error" events say why: /,
    },
  },
  STORE_UNKNOWN: {
    "no reply in time": {
      act: async () => {
        await command(server.port, "CLIENT", "PAUSE", 300, "ALL")
        onTestFinished(async () => {
          await redis.ping()
        })
        await onRedis({ outage: { deadline: 50 } }).tryAcquire("paused")
      },
      says: /^no answer from the store within 50 ms; the call may have run/,
    },
    "a connection that breaks": {
      act: async () => {
        const broken = redis.duplicate().on("error", () => {})
        await broken.connect()
        await command(server.port, "CLIENT", "PAUSE", 300, "ALL")
        setTimeout(() => broken.disconnect(), 50)
        await onRedis({ store: redisStore(ioredis(broken)) }).tryAcquire("broken")
      },
      says: /^no answer from Redis; the call may have run, do not repeat it: /,
    },
  },
}

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8")

test("every error code has a test here, and a section in the docs with its cause and its remedy", () => {
  const codes = read("packages/sluice/src/errors.ts").match(/(?<=\| ")[A-Z_]+(?=")/g)
  expect(Object.keys(ways)).toEqual(codes)
  const [, ...sections] = read("docs/errors.md").split(/^## /m)
  expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(codes)
  for (const section of sections) {
    expect(section).toContain("**What happened.**")
    expect(section).toContain("**What to do.**")
  }
})

describe.each(Object.entries(ways) as [ErrorCode, Record<string, Way>][])("%s", (code, ofCode) => {
  test.each(Object.entries(ofCode))("is the code for %s", async (_, { act, says }) => {
    const error = await (async () => act())().then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(error).toBeInstanceOf(SluiceError)
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) })
  })
})
