import { combine, createLimiter, fixedWindow, memoryStore, slidingLog, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"

function setUp() {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const organisations = createLimiter({
    name: "org",
    policy: fixedWindow({ limit: 3, window: "1m" }),
    store,
  })
  const users = createLimiter({
    name: "user",
    policy: {
      burst: tokenBucket({ capacity: 2, refill: 1, every: "1s" }),
      daily: slidingLog({ limit: 9, window: "1d" }),
    },
    store,
  })
  return { clock, store, organisations, users }
}

describe("combined limits", () => {
  test("are spent all or nothing", async () => {
    const { clock, organisations, users } = setUp()
    const request = (user: string) => combine([organisations.on("acme"), users.on(user)]).tryAcquire()
    expect(await request("ann")).toMatchObject({ allowed: true, policy: "user:burst", remaining: 1 })
    expect(await request("ann")).toMatchObject({ allowed: true, policy: "user:burst", remaining: 0 })
    expect(await request("ann")).toMatchObject({ allowed: false, policy: "user:burst", retryAfter: 1_000 })
    // Nothing was spent in the limiter of the organisation.
    expect(await organisations.peek("acme")).toMatchObject({ remaining: 1 })
    expect(await request("bob")).toMatchObject({ allowed: true, policy: "org:default", remaining: 0 })
    expect(await request("cyd")).toMatchObject({ allowed: false, policy: "org:default", retryAfter: 60_000 })
    expect((await users.peek("cyd")).policies?.map(({ remaining }) => remaining)).toEqual([2, 9])
    clock.advance(60_000)
    expect(await request("cyd")).toMatchObject({ allowed: true })
  })

  test("use the cost of each claim", async () => {
    const { organisations, users } = setUp()
    const both = combine([organisations.on("acme", { cost: 3 }), users.on("ann", { cost: { daily: 5 } })])
    expect(await both.peek()).toMatchObject({ allowed: true })
    expect(await both.tryAcquire()).toMatchObject({ allowed: true })
    expect(await both.tryAcquire()).toMatchObject({ allowed: false })
    expect((await users.peek("ann")).policies?.map(({ remaining }) => remaining)).toEqual([1, 4])
  })

  test("can be of one limiter for different keys", async () => {
    const { organisations } = setUp()
    const both = combine([organisations.on("acme"), organisations.on("parent")])
    expect(await both.tryAcquire()).toMatchObject({ allowed: true })
    expect(await organisations.peek("parent")).toMatchObject({ remaining: 2 })
  })

  test("do not change if the list or the claims change afterwards", async () => {
    const { organisations, users } = setUp()
    const claims = [organisations.on("acme"), users.on("ann")]
    const both = combine(claims)
    Object.assign(claims[0] as object, { limiter: "other", key: "other" })
    claims.reverse().pop()
    expect((await both.tryAcquire()).policies?.map(({ policy }) => policy)).toEqual([
      "org:default",
      "user:burst",
      "user:daily",
    ])
    expect(await organisations.peek("acme")).toMatchObject({ remaining: 2 })
  })

  test.each([
    ["nothing", () => combine([]), "combine takes 1 to 64 claims, got 0"],
    ["no list", () => combine(7 as never), "combine takes an array: combine([a.on(key), b.on(key)]), got 7"],
    [
      "no claim",
      () => combine([{ limiter: "org", key: "k" }]),
      "combine takes results of limiter.on, got an object",
    ],
    [
      "the same twice",
      () => {
        const { users } = setUp()
        combine([users.on("ann"), users.on("ann")])
      },
      "the same limiter and key are combined twice",
    ],
    [
      "more than a store decides on in one step",
      () => {
        const { users } = setUp()
        combine(Array.from({ length: 65 }, (_, i) => users.on(`user ${i}`)))
      },
      "combine takes 1 to 64 claims, got 65",
    ],
    [
      "those of two stores",
      () => combine([setUp().users.on("ann"), setUp().organisations.on("acme")]),
      "must share a store",
    ],
    ["a wrong key", () => setUp().users.on(""), "key must be a non-empty string"],
    ["a wrong cost", () => setUp().users.on("ann", { cost: 0 as never }), "cost must be an integer"],
    [
      "a wrong option",
      () => setUp().users.on("ann", { timeout: 1 } as object),
      'a request has no field "timeout"',
    ],
  ])("cannot be made of %s", (_, make, message) => {
    expect(make).toThrow(message)
  })

  test("reject if a limiter is closed", async () => {
    const { organisations, users } = setUp()
    const both = combine([organisations.on("acme"), users.on("ann")])
    await users.close()
    await expect(both.tryAcquire()).rejects.toMatchObject({ code: "CLOSED" })
  })
})
