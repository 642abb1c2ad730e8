import { beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest"
import { createLimiter } from "../create-limiter.js"
import { SluiceError } from "../errors.js"
import type { Limiter } from "../limiter.js"
import { fixedWindow, tokenBucket } from "../policy.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { manualClock } from "../testing/index.js"
import { decisionOf } from "./describe.js"
import { createJudge } from "./judge.js"
import { nameOf } from "./limiter-of.js"
import type { RateLimitOptions } from "./options.js"
import type { HttpRequest } from "./request.js"

interface Request {
  readonly user?: string
  readonly plan?: "free" | "pro"
  readonly size?: number
}

const http: HttpRequest = { address: "1.2.3.4", header: () => undefined }
const policy = fixedWindow({ limit: 2, window: "1m" })
let clock = manualClock()
beforeEach(() => {
  clock = manualClock()
})

/** A judge on a memory store with a clock that stands still. */
const judgeOf = (options: RateLimitOptions<Request>) => {
  const judge = createJudge(options.limiter ? options : { store: memoryStore({ clock }), ...options })
  return (request: Request = {}, view: HttpRequest = http) => judge(request, view)
}

describe("a judge", () => {
  test("allows requests up to the limit, with headers, and denies the next", async () => {
    const judge = judgeOf({ policy })
    expect(await judge()).toEqual({
      decision: expect.objectContaining({ allowed: true, remaining: 1 }),
      headers: { "RateLimit-Policy": '"2-in-1m";q=2;w=60', RateLimit: '"2-in-1m";r=1;t=60' },
      denial: undefined,
      finish: undefined,
    })
    await judge()
    const { denial, decision } = await judge()
    expect(denial).toMatchObject({
      status: 429,
      headers: { "Retry-After": "60", RateLimit: '"2-in-1m";r=0;t=60' },
    })
    expect(denial?.body).toContain('"violated-policies":["2-in-1m"]')
    expect(decision).toMatchObject({ allowed: false })
  })

  test("limits each client address by default", async () => {
    const judge = judgeOf({ policy: fixedWindow({ limit: 1, window: "1m" }) })
    const from = async (address: string) => (await judge({}, { ...http, address })).denial?.status
    expect(await Promise.all(["1.1.1.1", "::ffff:1.1.1.1", "2.2.2.2"].map(from))).toEqual([
      undefined,
      429,
      undefined,
    ])
  })

  test("skips a request if skip returns true or its cost is 0", async () => {
    const judge = judgeOf({ policy, skip: ({ user }) => user === "admin", cost: ({ size = 1 }) => size })
    for (let i = 0; i < 5; i += 1) {
      expect(await judge({ user: "admin" })).toEqual({ headers: {} })
      expect(await judge({ size: 0 })).toEqual({ headers: {} })
    }
    expect(await judge({ size: 2 })).toMatchObject({ decision: { remaining: 0 } })
  })

  test("takes the key, the cost and the policy from the request", async () => {
    const plans = {
      free: fixedWindow({ limit: 1, window: "1m" }),
      pro: fixedWindow({ limit: 10, window: "1m" }),
    }
    const judge = judgeOf({
      name: "plans",
      policy: async ({ plan = "free" }) => plans[plan],
      key: async ({ user = "" }) => user,
      cost: ({ size = 1 }) => Promise.resolve(size),
    })
    expect(await judge({ user: "a" })).toMatchObject({ headers: { RateLimit: '"plans";r=0;t=60' } })
    expect(await judge({ user: "a" })).toMatchObject({ denial: { status: 429 } })
    expect(await judge({ user: "a", plan: "pro", size: 4 })).toMatchObject({
      decision: { limit: 10, remaining: 5 },
    })
    expect(await judge({ user: "b" })).toMatchObject({ decision: { allowed: true } })
  })

  test("takes the limiter from the request, with its name in the headers", async () => {
    const store = memoryStore({ clock })
    const limiters = {
      free: createLimiter({ name: "free", policy, store }),
      pro: createLimiter({ name: "pro", policy: fixedWindow({ limit: 9, window: "1m" }), store }),
    }
    const judge = judgeOf({ limiter: ({ plan = "free" }) => limiters[plan] })
    expect(await judge()).toMatchObject({ headers: { RateLimit: '"free";r=1;t=60' } })
    expect(await judge({ plan: "pro" })).toMatchObject({ headers: { RateLimit: '"pro";r=8;t=60' } })
  })

  test("accepts a limiter over several policies", async () => {
    const limiter = createLimiter({
      policy: { burst: policy, daily: fixedWindow({ limit: 9, window: "1d" }) },
    })
    const judge = judgeOf({ limiter, cost: { burst: 0, daily: 2 } })
    expect(await judge()).toMatchObject({ headers: { "RateLimit-Policy": '"daily";q=9;w=86400' } })
    expectTypeOf(limiter).toExtend<Limiter>()
  })

  test("names the policies of all limiters that saw the request", async () => {
    const [first, second] = [judgeOf({ policy, name: "all" }), judgeOf({ policy, name: "login" })]
    const request = {}
    await first(request)
    expect(await second(request)).toMatchObject({
      headers: { RateLimit: '"all";r=1;t=60, "login";r=1;t=60' },
    })
    expect(await second({})).toMatchObject({ headers: { RateLimit: '"login";r=0;t=60' } })
    const again = {}
    await first(again)
    const { denial } = await second(again)
    expect(denial?.body).toContain('"violated-policies":["login"]')
    expect(denial?.headers["RateLimit"]).toBe('"all";r=0;t=60, "login";r=0;t=60')
  })

  test("makes the request carry its last decision", async () => {
    const judge = judgeOf({ policy })
    const request = {}
    expect(decisionOf(request)).toBeUndefined()
    const { decision } = await judge(request)
    expect(decisionOf(request)).toBe(decision)
  })

  test("writes the headers that are chosen, and Retry-After in any case", async () => {
    const one = fixedWindow({ limit: 1, window: "1m" })
    const none = judgeOf({ policy: one, headers: false })
    expect(await none()).toMatchObject({ headers: {} })
    expect(Object.keys((await none()).denial?.headers ?? {})).toEqual([
      "Retry-After",
      "Content-Type",
      "Cache-Control",
    ])
    const seventh = judgeOf({ policy: one, headers: "draft-7" })
    expect(await seventh()).toMatchObject({ headers: { RateLimit: "limit=1, remaining=0, reset=60" } })
    const named = judgeOf({ policy: one, headers: { names: { default: "logins" } } })
    expect(await named()).toMatchObject({ headers: { RateLimit: '"logins";r=0;t=60' } })
  })

  test("sends what onDenied returns", async () => {
    const onDenied = vi.fn((request: Request) => ({ status: 403, body: { sorry: request.user } }))
    const judge = judgeOf({ policy: fixedWindow({ limit: 1, window: "1m" }), onDenied })
    await judge({ user: "ann" })
    expect(onDenied).not.toHaveBeenCalled()
    const request = { user: "ann" }
    expect(await judge(request)).toMatchObject({ denial: { status: 403, body: '{"sorry":"ann"}' } })
    expect(onDenied).toHaveBeenCalledWith(request, expect.objectContaining({ status: 429 }))
  })

  test("rejects when a function of the application throws or returns an invalid key", async () => {
    const broken = () => {
      throw new Error("broken")
    }
    for (const name of ["key", "skip", "cost"]) {
      await expect(judgeOf({ policy, [name]: broken })()).rejects.toThrow("broken")
    }
    await expect(judgeOf({ policy, key: () => "" })()).rejects.toMatchObject({ code: "INVALID_KEY" })
    const limited = judgeOf({ policy: fixedWindow({ limit: 1, window: "1m" }), onDenied: broken })
    await limited()
    await expect(limited()).rejects.toThrow("broken")
  })
})

describe("a judge that counts", () => {
  const remaining = async (judge: ReturnType<typeof judgeOf>) => (await judge()).decision?.remaining
  test.each([
    ["failures", 200, 4],
    ["failures", 304, 4],
    ["failures", 399, 4],
    ["failures", 400, 3],
    ["failures", 500, 3],
    ["failures", "aborted", 3],
    ["successes", 200, 3],
    ["successes", 404, 4],
    ["successes", "aborted", 4],
  ] as const)("%s: a request that ends with %s leaves %d of 5 for the next", async (count, outcome, left) => {
    const judge = judgeOf({ policy: fixedWindow({ limit: 5, window: "1m" }), count })
    const { finish } = await judge()
    await finish?.(outcome)
    expect(await remaining(judge)).toBe(left)
  })

  test("failures: a running request holds its unit, so that parallel guesses do not pass", async () => {
    const judge = judgeOf({ policy: fixedWindow({ limit: 5, window: "1m" }), count: "failures" })
    const judgements = await Promise.all(Array.from({ length: 100 }, () => judge()))
    expect(judgements.filter(({ denial }) => denial === undefined)).toHaveLength(5)
  })

  test("failures: its own denials are not settled", async () => {
    const judge = judgeOf({ policy: fixedWindow({ limit: 1, window: "1m" }), count: "failures" })
    const first = await judge()
    expect(await judge()).toMatchObject({ denial: { status: 429 }, finish: undefined })
    await first.finish?.(200)
    expect(await judge()).toMatchObject({ denial: undefined })
  })

  test("failures over several policies: each is settled at what it was charged", async () => {
    const store = memoryStore({ clock })
    const policy = {
      burst: fixedWindow({ limit: 9, window: "1m" }),
      daily: fixedWindow({ limit: 9, window: "1d" }),
    }
    const limiter = createLimiter({ policy, store })
    for (const [cost, burst, daily] of [
      [1, 8, 8],
      [{ daily: 3 }, 7, 5],
      [{ burst: 0, daily: 2 }, 7, 3],
    ] as const) {
      const judge = judgeOf({ limiter, cost, count: "failures" })
      await (await judge()).finish?.(500)
      const { policies } = await limiter.peek("1.2.3.4")
      expect(policies?.map(({ remaining }) => remaining)).toEqual([burst, daily])
      await (await judge()).finish?.(200)
    }
  })

  test("failures: only the first ending of a response is settled", async () => {
    const limiter = createLimiter({ policy })
    const settle = vi.fn(async () => true)
    const reserve = async () => ({ ...(await limiter.reserve("k")), settle, cancel: settle })
    const { finish } = await judgeOf({ limiter: { ...limiter, reserve } as Limiter, count: "failures" })()
    await Promise.all([finish?.("aborted"), finish?.(200)])
    expect(settle).toHaveBeenCalledTimes(1)
  })

  test("tells onError when a request cannot be settled", async () => {
    const onError = vi.fn()
    const limiter = createLimiter({ policy })
    const request = {}
    const { finish } = await judgeOf({ limiter, count: "failures", onError })(request)
    await limiter.close()
    await finish?.(200)
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: "CLOSED" }), request)
  })
})

describe("a judge that waits", () => {
  const bucket = tokenBucket({ capacity: 1, refill: 1, every: "1s" })

  test("lets a request pass when its turn comes, and denies one whose turn is too far ahead", async () => {
    const judge = judgeOf({ policy: bucket, wait: "1s" })
    await judge()
    const second = judge()
    const third = await judge()
    expect(third).toMatchObject({ denial: { status: 429, headers: { "Retry-After": "2" } } })
    clock.advance(1_000)
    expect(await second).toMatchObject({ decision: { allowed: true } })
  })

  test("gives the turn of a client that disconnects back", async () => {
    const judge = judgeOf({ policy: bucket, wait: "5s" })
    await judge()
    const gone = new AbortController()
    const second = judge({}, { ...http, signal: () => gone.signal })
    await new Promise(setImmediate)
    gone.abort()
    expect(await second).toMatchObject({ denial: { status: 499 } })
    clock.advance(1_000)
    expect(await judge()).toMatchObject({ decision: { allowed: true } })
  })
})

describe("a judge whose store fails", () => {
  const failing = (code: "STORE_REFUSED" | "STORE_UNKNOWN" | "CLOSED") => {
    const fail = () => Promise.reject(new SluiceError(code, "down"))
    return { ...createLimiter({ policy }), tryAcquire: fail, reserve: fail } as Limiter
  }

  test.each(["STORE_REFUSED", "STORE_UNKNOWN"] as const)(
    "with %s answers 503 and tells onError",
    async (code) => {
      const onError = vi.fn()
      const request = {}
      const judgement = await judgeOf({ limiter: failing(code), onError })(request)
      expect(judgement).toMatchObject({
        decision: undefined,
        denial: { status: 503, headers: { "Retry-After": "1" } },
      })
      expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code }), request)
    },
  )

  test("lets onDenied change the 503", async () => {
    const judge = judgeOf({ limiter: failing("STORE_REFUSED"), onDenied: () => ({ status: 500 }) })
    expect(await judge()).toMatchObject({ denial: { status: 500 } })
  })

  test("passes other errors on", async () => {
    await expect(judgeOf({ limiter: failing("CLOSED") })()).rejects.toMatchObject({ code: "CLOSED" })
  })
})

describe("the default name of a limiter", () => {
  test("differs where policies differ", () => {
    const window = "1m"
    const policies = [
      fixedWindow({ limit: 2, window }),
      fixedWindow({ limit: 2, window, align: "clock" }),
      fixedWindow({ limit: 26, window }),
      fixedWindow({ limit: 2, window: "10m" }),
      tokenBucket({ capacity: 2, refill: 1, every: window }),
      tokenBucket({ capacity: 1, refill: 2, every: window }),
      { a: fixedWindow({ limit: 2, window }) },
      { a: fixedWindow({ limit: 2, window }), b: fixedWindow({ limit: 2, window }) },
      { 'a"=': fixedWindow({ limit: 2, window }) },
    ]
    expect(new Set(policies.map(nameOf)).size).toBe(policies.length)
  })

  test("is the same where policies are the same, in whatever order", () => {
    const [a, b] = [fixedWindow({ limit: 2, window: "1m" }), fixedWindow({ limit: 3, window: "1m" })]
    expect(nameOf({ a, b })).toBe(nameOf({ b, a }))
    expect(nameOf(a)).toBe("fixedWindow-align-first-limit-2-window-60000")
  })

  test("keeps routes with different policies on one store apart", async () => {
    const store = memoryStore({ clock })
    const route = judgeOf({ store, policy: fixedWindow({ limit: 1, window: "1m" }) })
    const same = judgeOf({ store, policy: fixedWindow({ limit: 1, window: "1m" }) })
    const other = judgeOf({ store, policy: fixedWindow({ limit: 1, window: "2m" }) })
    const statuses = [await route(), await same(), await other()].map(({ denial }) => denial?.status)
    expect(statuses).toEqual([undefined, 429, undefined])
  })
})

test("a policy function that returns nothing is a mistake that the framework reports", async () => {
  const judge = judgeOf({ name: "plans", policy: () => undefined as never })
  await expect(judge()).rejects.toThrow("policy returned no policy for this request")
})

test.each<[object, RegExp]>([
  [{}, /rateLimit needs a policy, such as .*, or a limiter/],
  [{ policy: () => policy }, /depends on the request needs a name/],
  [{ policy, count: "errors" }, /count must be "all", "failures" or "successes", got "errors"/],
  [{ policy, count: "failures", wait: "1s" }, /wait cannot be combined with count: "failures"/],
  [{ policy, wait: "soon" }, /wait must be whole milliseconds/],
  [{ policy, key: "ip" }, /key must be a function, got "ip"/],
  [{ policy, windowMs: 1 }, /rateLimit has no field "windowMs"/],
  [{ policy, headers: "draft-12" }, /headers.form must be one of/],
  [{ limiter: createLimiter({ policy }), name: "x" }, /a limiter has its own store, name and outage/],
  [{ policy: { limit: 5 } }, /a policy is made by/],
])("the options %o throw", (options, message) => {
  expect(() => createJudge(options)).toThrow(message)
})
