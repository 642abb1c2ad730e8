import { createLimiter, fixedWindow, memoryStore, slidingLog, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"

const budget = {
  requests: fixedWindow({ limit: 10, window: "1m" }),
  tokens: tokenBucket({ capacity: 1_000, refill: 1_000, every: "1m" }),
}

function setUp() {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const limiter = createLimiter({ name: "llm", policy: budget, store })
  const left = async () => {
    const { policies } = await limiter.peek("k")
    return Object.fromEntries(policies?.map(({ policy, remaining }) => [policy, remaining]) ?? [])
  }
  return { clock, store, limiter, left }
}

describe("a reservation", () => {
  test("spends the estimate at once, and gives the excess back", async () => {
    const { limiter, left } = setUp()
    const { decision, settle } = await limiter.reserve("k", { cost: { tokens: 600 } })
    expect(decision).toMatchObject({ allowed: true, policy: "tokens", remaining: 400 })
    expect(await left()).toEqual({ requests: 9, tokens: 400 })
    expect(await settle({ tokens: 100 })).toBe(true)
    expect(await left()).toEqual({ requests: 9, tokens: 900 })
  })

  test("charges the difference if the estimate was too low, into debt if needed", async () => {
    const { clock, limiter, left } = setUp()
    const { settle } = await limiter.reserve("k", { cost: { tokens: 600 } })
    await settle({ tokens: 1_500 })
    expect(await left()).toEqual({ requests: 9, tokens: 0 })
    expect(await limiter.peek("k")).toMatchObject({ policy: "tokens", retryAfter: 30_060 })
    clock.advance(30_060)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: true })
  })

  test("is given back completely when it is cancelled", async () => {
    const { limiter, left } = setUp()
    const { cancel } = await limiter.reserve("k", { cost: { requests: 3, tokens: 600 } })
    expect(await cancel()).toBe(true)
    expect(await left()).toEqual({ requests: 10, tokens: 1_000 })
  })

  test("is settled once, by any process with its id", async () => {
    const { store, limiter, left } = setUp()
    const { id, settle, cancel } = await limiter.reserve("k", { cost: { tokens: 600 } })
    const elsewhere = createLimiter({ name: "llm", policy: budget, store })
    expect(await elsewhere.reservation("k", id).settle({ tokens: 200 })).toBe(true)
    expect(await settle({ tokens: 0 })).toBe(false)
    expect(await cancel()).toBe(false)
    expect(await left()).toEqual({ requests: 9, tokens: 800 })
  })

  test("is found by its id and its key together", async () => {
    const { limiter } = setUp()
    const { id } = await limiter.reserve("k")
    expect(await limiter.reservation("other", id).cancel()).toBe(false)
    expect(await limiter.reservation("k", id.replace(/=\d/, "=9")).cancel()).toBe(false)
    expect(await limiter.reservation("k", id).cancel()).toBe(true)
  })

  test("can be settled only under the policies of the reservation", async () => {
    const { limiter, left } = setUp()
    const vip = { tokens: fixedWindow({ limit: 5_000, window: "1m" }) }
    const { id } = await limiter.reserve("k", { cost: { tokens: 600 }, policy: vip })
    const error = { code: "INVALID_OPTION", message: expect.stringContaining("Pass it: reservation(key, id") }
    // A policy with another algorithm, and no policy of that name.
    await expect(limiter.reservation("k", id).settle({ tokens: 100 })).rejects.toMatchObject(error)
    const other = { policy: { requests: budget.requests } }
    await expect(limiter.reservation("k", id, other).cancel()).rejects.toMatchObject(error)
    expect(await left()).toEqual({ requests: 10, tokens: 1_000 })
    expect(await limiter.reservation("k", id, { policy: vip }).settle({ tokens: 100 })).toBe(true)
    expect(await limiter.peek("k", { policy: vip })).toMatchObject({ remaining: 4_900 })
  })

  test("keeps its estimate if it is not settled in time", async () => {
    const { clock, limiter, left } = setUp()
    const { settle } = await limiter.reserve("k", { cost: { tokens: 600 }, ttl: "5s" })
    clock.advance(5_000)
    expect(await settle({ tokens: 0 })).toBe(false)
    expect(await left()).toEqual({ requests: 9, tokens: 483 })
  })

  test("that was denied has nothing to settle", async () => {
    const { limiter, left } = setUp()
    const { decision, settle, cancel } = await limiter.reserve("k", { cost: { requests: 3, tokens: 1_001 } })
    expect(decision).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY })
    expect(await settle({ tokens: 500 })).toBe(false)
    expect(await cancel()).toBe(false)
    expect(await left()).toEqual({ requests: 10, tokens: 1_000 })
  })

  test("gives nothing back after its window", async () => {
    const clock = manualClock()
    const policy = fixedWindow({ limit: 10, window: "1m" })
    const limiter = createLimiter({ policy, store: memoryStore({ clock }) })
    const { settle } = await limiter.reserve("k", { cost: 10 })
    clock.advance(60_000)
    await limiter.tryAcquire("k", { cost: 10 })
    expect(await settle(1)).toBe(true)
    expect(await limiter.peek("k")).toMatchObject({ remaining: 0 })
  })

  test("under a policy passed in the call is settled under that policy", async () => {
    const { limiter } = setUp()
    const policy = slidingLog({ limit: 5, window: "1m" })
    const { settle } = await limiter.reserve("k", { policy, cost: 5 })
    expect(await settle(2)).toBe(true)
    expect(await limiter.peek("k", { policy })).toMatchObject({ remaining: 3 })
  })

  test.each([
    [{ ttl: 0 }, "ttl must be whole milliseconds"],
    [{ ttl: "soon" }, "ttl must be whole milliseconds"],
    [{ cost: { tokens: -1 } }, "cost of tokens must be an integer, 0 or more, got -1"],
    [{ timeout: 5 }, 'a reservation has no field "timeout"'],
  ])("rejects the options %o", async (options, message) => {
    const { limiter } = setUp()
    await expect(limiter.reserve("k", options as object)).rejects.toThrow(message)
  })

  test.each([["", 7, "1?tokens=5", `${"0".repeat(32)}?tokens=-5`, `${"0".repeat(32)}?`]].flat())(
    "has no id like %o",
    (id) => {
      const { limiter } = setUp()
      expect(() => limiter.reservation("k", id as string)).toThrow("id must be that of a reservation")
    },
  )

  test.each([[-1], [1.5], [Number.NaN], ["1"], [{ dollars: 1 }]])(
    "cannot be settled at %o",
    async (actual) => {
      const { limiter, left } = setUp()
      const { settle, cancel } = await limiter.reserve("k")
      await expect(settle(actual as never)).rejects.toMatchObject({ code: "INVALID_COST" })
      expect(await cancel()).toBe(true)
      expect(await left()).toEqual({ requests: 10, tokens: 1_000 })
    },
  )

  test("cannot be settled through a closed limiter", async () => {
    const { limiter } = setUp()
    const { settle } = await limiter.reserve("k")
    await limiter.close()
    await expect(settle({ tokens: 1 })).rejects.toMatchObject({ code: "CLOSED" })
  })
})

describe("a charge", () => {
  test("spends the cost if there is room", async () => {
    const { limiter, left } = setUp()
    expect(await limiter.charge("k", { requests: 1, tokens: 400 })).toMatchObject({
      allowed: true,
      remaining: 9,
    })
    expect(await left()).toEqual({ requests: 9, tokens: 600 })
  })

  test("turns the rest into debt, which delays later requests", async () => {
    const { clock, limiter } = setUp()
    const charged = await limiter.charge("k", { requests: 0, tokens: 1_500 })
    expect(charged).toMatchObject({ allowed: false, policy: "tokens", remaining: 0, retryAfter: 30_060 })
    clock.advance(30_059)
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, retryAfter: 1 })
  })

  test("counts at most twice the limit", async () => {
    const { limiter } = setUp()
    const { retryAfter } = await limiter.charge("k", { requests: 0, tokens: 1_000_000 })
    expect(retryAfter).toBe(60_060)
  })

  test.each([[0], [-1], [1.5], ["1"]])("of %o is refused", async (cost) => {
    const { limiter } = setUp()
    await expect(limiter.charge("k", cost as never)).rejects.toMatchObject({ code: "INVALID_COST" })
  })
})
