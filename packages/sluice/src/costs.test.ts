import { createLimiter, fixedWindow, memoryStore, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"

const requests = fixedWindow({ limit: 10, window: "1m" })
const tokens = tokenBucket({ capacity: 1_000, refill: 1_000, every: "1m" })

function setUp() {
  const limiter = createLimiter({
    policy: { requests, tokens },
    store: memoryStore({ clock: manualClock() }),
  })
  const left = async () => (await limiter.peek("k")).policies?.map(({ remaining }) => remaining)
  return { limiter, left }
}

const message =
  'cost must be a record by policy name, such as { "requests": …, "tokens": … }, got a cost of 5'

describe("a plain number over several policies", () => {
  test("is rejected in every call, by types and at run time", async () => {
    const { limiter, left } = setUp()
    const reservation = await limiter.reserve("k", { cost: { requests: 1, tokens: 100 } })
    const calls = [
      // @ts-expect-error: it would charge requests and tokens alike
      () => limiter.tryAcquire("k", { cost: 5 }),
      // @ts-expect-error
      () => limiter.tryAcquire("k", { cost: 5, timeout: 5 }),
      // @ts-expect-error
      () => limiter.acquire("k", { cost: 5 }),
      // @ts-expect-error
      () => limiter.peek("k", { cost: 5 }),
      // @ts-expect-error
      () => limiter.reserve("k", { cost: 5 }),
      // @ts-expect-error
      () => limiter.charge("k", 5),
      // @ts-expect-error
      () => limiter.refund("k", 5),
      // @ts-expect-error
      () => reservation.settle(5),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "INVALID_COST", message })
    // @ts-expect-error
    expect(() => limiter.on("k", { cost: 5 })).toThrow(message)
    expect(await left()).toEqual([9, 900])
  })

  test("can be 1 in a request, but not in a charge, a refund or a settlement", async () => {
    const { limiter, left } = setUp()
    expect(await limiter.tryAcquire("k", { cost: 1 })).toMatchObject({ allowed: true })
    expect(await left()).toEqual([9, 999])
    // @ts-expect-error
    await expect(limiter.charge("k", 1)).rejects.toMatchObject({ code: "INVALID_COST" })
    // @ts-expect-error
    await expect(limiter.refund("k", 1)).rejects.toMatchObject({ code: "INVALID_COST" })
    const { settle } = await limiter.reserve("k")
    // @ts-expect-error
    await expect(settle(0)).rejects.toMatchObject({ code: "INVALID_COST" })
    expect(await left()).toEqual([8, 998])
  })

  test("is rejected for a record of one policy", async () => {
    const limiter = createLimiter({ policy: { tokens } })
    // @ts-expect-error
    await expect(limiter.tryAcquire("k", { cost: 5 })).rejects.toMatchObject({ code: "INVALID_COST" })
    expect(await limiter.tryAcquire("k", { cost: { tokens: 5 } })).toMatchObject({ remaining: 995 })
  })
})

describe("a policy that is not named", () => {
  test("costs 1 in a request", async () => {
    const { limiter, left } = setUp()
    await limiter.tryAcquire("k", { cost: { tokens: 200 } })
    expect(await left()).toEqual([9, 800])
  })

  test("is neither charged nor refunded", async () => {
    const { limiter, left } = setUp()
    await limiter.charge("k", { tokens: 200 })
    expect(await left()).toEqual([10, 800])
    await limiter.tryAcquire("k")
    await limiter.refund("k", { tokens: 101 })
    expect(await left()).toEqual([9, 900])
  })

  test("stays as reserved in a settlement", async () => {
    const { limiter, left } = setUp()
    const { settle } = await limiter.reserve("k", { cost: { requests: 3, tokens: 500 } })
    expect(await settle({ tokens: 200 })).toBe(true)
    expect(await left()).toEqual([7, 800])
  })
})

test("only a settlement accepts 0 for every policy", async () => {
  const { limiter, left } = setUp()
  const none = { requests: 0, tokens: 0 }
  await expect(limiter.tryAcquire("k", { cost: none })).rejects.toMatchObject({ code: "INVALID_COST" })
  await expect(limiter.charge("k", none)).rejects.toMatchObject({ code: "INVALID_COST" })
  await expect(limiter.charge("k", {})).rejects.toMatchObject({ code: "INVALID_COST" })
  const [first, second] = [await limiter.reserve("k"), await limiter.reserve("k")]
  expect(await first.settle(none)).toBe(true)
  expect(await second.cancel()).toBe(true)
  expect(await left()).toEqual([10, 1_000])
})

test("a single policy accepts a plain number in every call", async () => {
  const limiter = createLimiter({ policy: tokens, store: memoryStore({ clock: manualClock() }) })
  await limiter.tryAcquire("k", { cost: 100 })
  await limiter.charge("k", 100)
  await limiter.refund("k", 50)
  const { settle } = await limiter.reserve("k", { cost: 100 })
  await settle(0)
  expect(await limiter.peek("k")).toMatchObject({ remaining: 850 })
})
