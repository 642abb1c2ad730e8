import { describe, expect, expectTypeOf, test } from "vitest"
import { createLimiter } from "./create-limiter.js"
import type { LimiterOptions } from "./limiter.js"
import { fixedWindow, leakyBucket, type Policy, slidingLog, tokenBucket } from "./policy.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import { manualClock } from "./testing/manual-clock.js"

const perMinute = fixedWindow({ limit: 10, window: "1m" })
const options = (value: unknown) => value as LimiterOptions<Policy>

describe("createLimiter", () => {
  test("needs only a policy", async () => {
    const limiter = createLimiter({ policy: perMinute })
    expect(limiter.name).toBe("default")
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true, policy: "default", remaining: 9 })
  })

  test.each([
    [{ policy: perMinute, polcy: 1 }, "INVALID_OPTION", 'createLimiter has no field "polcy"'],
    [{ policy: perMinute, name: "" }, "INVALID_OPTION", "name must be a non-empty string"],
    [{ policy: perMinute, name: 7 }, "INVALID_OPTION", "name must be a non-empty string"],
    [{ policy: perMinute, store: {} }, "INVALID_OPTION", "store must be a Store"],
    [{ policy: perMinute, store: { ask() {} } }, "INVALID_OPTION", "store must be a Store"],
    [{ policy: perMinute, store: null }, "INVALID_OPTION", "store must be a Store"],
    [{}, "INVALID_POLICY", "policy must be a policy or a record"],
    [{ policy: {} }, "INVALID_POLICY", "a record has 1 to 64 policies, got 0"],
    [
      { policy: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`p${i}`, perMinute])) },
      "INVALID_POLICY",
      "a record has 1 to 64 policies, got 65",
    ],
    [{ policy: { "": perMinute } }, "INVALID_POLICY", "a policy needs a name"],
    [{ policy: { a: perMinute, b: 5 } }, "INVALID_POLICY", "a policy is made by"],
    [undefined, "INVALID_OPTION", "createLimiter must be an object"],
  ])("refuses %o", (value, code, message) => {
    expect(() => createLimiter(options(value))).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })

  test("throws if its name has other policies on the same store, until that limiter is closed", async () => {
    const store = memoryStore()
    const first = createLimiter({ name: "api", policy: perMinute, store })
    const twin = createLimiter({ name: "api", policy: fixedWindow({ limit: 10, window: 60_000 }), store })
    const other = () => createLimiter({ name: "api", policy: slidingLog({ limit: 10, window: "1m" }), store })
    expect(other).toThrow(expect.objectContaining({ code: "NAME_TAKEN" }))
    expect(() => createLimiter({ name: "api", policy: { default: perMinute, b: perMinute }, store })).toThrow(
      /api/,
    )
    createLimiter({ name: "api", policy: () => slidingLog({ limit: 1, window: 1 }), store })
    createLimiter({ name: "api", policy: slidingLog({ limit: 10, window: "1m" }), store: memoryStore() })
    await first.close()
    await first.close()
    expect(other).toThrow(expect.objectContaining({ code: "NAME_TAKEN" }))
    await twin.close()
    expect(other().name).toBe("api")
  })

  test("treats records of the same policies in any order as equal", () => {
    const store = memoryStore()
    const [a, b] = [perMinute, leakyBucket({ capacity: 1, leak: 1, every: 1 })]
    createLimiter({ policy: { a, b }, store })
    expect(createLimiter({ policy: { b, a }, store }).name).toBe("default")
  })
})

describe("a limiter", () => {
  test("uses the policy that a function returns for the key", async () => {
    const limiter = createLimiter({
      policy: (key) => fixedWindow({ limit: key.startsWith("pro:") ? 100 : 5, window: "1m" }),
    })
    expect((await limiter.tryAcquire("pro:1")).limit).toBe(100)
    expect((await limiter.tryAcquire("free:1")).limit).toBe(5)
  })

  test("names the policy with the longest wait, or if allowed the one with the least left", async () => {
    const limiter = createLimiter({
      policy: {
        requests: fixedWindow({ limit: 5, window: "1s" }),
        tokens: fixedWindow({ limit: 1_000, window: "1m" }),
      },
      store: memoryStore({ clock: manualClock() }),
    })
    expect((await limiter.tryAcquire("k", { cost: { tokens: 10 } })).policy).toBe("requests")
    // 390 tokens are enough for one more such request, 3 requests for three.
    expect((await limiter.tryAcquire("k", { cost: { tokens: 600 } })).policy).toBe("tokens")
    expect(await limiter.tryAcquire("k", { cost: { requests: 4, tokens: 600 } })).toMatchObject({
      allowed: false,
      policy: "tokens",
      retryAfter: 60_000,
      policies: [
        { policy: "requests", allowed: false, retryAfter: 1_000 },
        { policy: "tokens", allowed: false, retryAfter: 60_000 },
      ],
    })
    expect((await limiter.tryAcquire("k", { cost: { requests: 4, tokens: 1 } })).policy).toBe("requests")
  })

  test.each([
    [{ cost: 0 }, "INVALID_COST", "cost must be an integer, 1 or more, got 0"],
    [{ cost: "1" }, "INVALID_COST", 'cost must be an integer, 1 or more, got "1"'],
    [{ cost: null }, "INVALID_COST", "got null"],
    [{ cost: { a: -1 } }, "INVALID_COST", "cost of a must be an integer, 0 or more, got -1"],
    [{ cost: { a: null } }, "INVALID_COST", "cost of a must be an integer, 0 or more, got null"],
    [{ cost: new Map([["a", 5]]) }, "INVALID_COST", "cost must be an integer, 1 or more, got an object"],
    [
      { policy: [perMinute] },
      "INVALID_POLICY",
      "policy must be a policy or a record of policies, got an array",
    ],
    [{ policy: Promise.resolve(perMinute) }, "INVALID_POLICY", "got a promise"],
    [{ cost: { c: 1 } }, "INVALID_COST", 'cost names "c", but the policies are a, b'],
    [{ cost: { a: 0, b: 0 } }, "INVALID_COST", "cost is 0 for every policy"],
    [{ costs: 1 }, "INVALID_OPTION", 'a request has no field "costs"; it takes cost, policy'],
    [{ policy: 5 }, "INVALID_POLICY", "policy must be a policy or a record"],
    [5, "INVALID_OPTION", "a request must be an object, got 5"],
  ])("rejects a request with options %o", async (value, code, message) => {
    const limiter = createLimiter({ policy: { a: perMinute, b: perMinute } })
    await expect(limiter.tryAcquire("k", value as never)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
    expect((await limiter.peek("k")).remaining).toBe(10)
  })

  test.each([["" as unknown], [undefined], [42], [Symbol("k")]])("refuses the key %s", async (key) => {
    const limiter = createLimiter({ policy: perMinute })
    for (const call of ["tryAcquire", "peek", "refund", "reset"] as const) {
      await expect(
        limiter[call](key as string, call === "refund" ? 1 : (undefined as never)),
      ).rejects.toMatchObject({
        code: "INVALID_KEY",
      })
    }
  })

  test("refunds by policy name", async () => {
    const limiter = createLimiter({ policy: { a: perMinute, b: perMinute } })
    await limiter.tryAcquire("k", { cost: { a: 5, b: 5 } })
    await limiter.refund("k", { a: 3 })
    expect((await limiter.peek("k")).policies?.map(({ remaining }) => remaining)).toEqual([8, 5])
    await expect(limiter.refund("k", {})).rejects.toMatchObject({ code: "INVALID_COST" })
    expect((await limiter.peek("k")).policies?.map(({ remaining }) => remaining)).toEqual([8, 5])
  })

  test("refunds and resets under policies given in the call", async () => {
    const limiter = createLimiter({ policy: perMinute })
    const policy = { burst: perMinute, daily: perMinute }
    await limiter.tryAcquire("k", { policy, cost: { burst: 10, daily: 10 } })
    await limiter.refund("k", { burst: 4, daily: 2 }, { policy })
    expect((await limiter.peek("k", { policy })).policies?.map(({ remaining }) => remaining)).toEqual([4, 2])
    await limiter.reset("k", { policy })
    expect((await limiter.peek("k", { policy })).remaining).toBe(10)
    await expect(limiter.refund("k", undefined as never)).rejects.toMatchObject({ code: "INVALID_COST" })
    await expect(limiter.reset("k", { key: "k" } as never)).rejects.toMatchObject({ code: "INVALID_OPTION" })
    await expect(limiter.refund("k", 1, { cost: 1 } as never)).rejects.toMatchObject({
      code: "INVALID_OPTION",
    })
  })

  test("rejects every call once it is closed, and closes at the end of its scope", async () => {
    const store = memoryStore()
    const escaped = await (async () => {
      await using limiter = createLimiter({ policy: perMinute, store })
      await limiter.tryAcquire("k")
      return limiter
    })()
    for (const call of [
      escaped.tryAcquire("k"),
      escaped.peek("k"),
      escaped.refund("k", 1),
      escaped.reset("k"),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "CLOSED" })
    }
    const next = createLimiter({ policy: perMinute, store })
    expect((await next.peek("k")).remaining).toBe(9)
  })

  test("knows the names of its policies in types", async () => {
    const limiter = createLimiter({ policy: { requests: perMinute, tokens: perMinute } })
    const decision = await limiter.tryAcquire("k", { cost: { requests: 2 } })
    expectTypeOf(decision.policy).toEqualTypeOf<"requests" | "tokens">()
    // @ts-expect-error: there is no such policy
    await expect(limiter.tryAcquire("k", { cost: { request: 2 } })).rejects.toThrow("request")
    const single = await createLimiter({ policy: perMinute }).tryAcquire("k")
    expectTypeOf(single.policy).toEqualTypeOf<"default">()
    const other = await limiter.tryAcquire("k", { policy: { burst: perMinute }, cost: { burst: 1 } })
    expectTypeOf(other.policy).toEqualTypeOf<"burst">()
    const chosen = createLimiter({
      policy: (key: string) =>
        key ? { a: perMinute } : { a: tokenBucket({ capacity: 1, refill: 1, every: 1 }) },
    })
    expectTypeOf((await chosen.peek("k")).policy).toEqualTypeOf<"a">()
  })
})
