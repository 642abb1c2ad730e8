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

describe("limits over different keys", () => {
  test("are spent in all or in none", async () => {
    const { clock, organisations, users } = setUp()
    const ask = (user: string) => combine([organisations.on("acme"), users.on(user)]).tryAcquire()
    expect(await ask("ann")).toMatchObject({ allowed: true, policy: "user:burst", remaining: 1 })
    expect(await ask("ann")).toMatchObject({ allowed: true, policy: "user:burst", remaining: 0 })
    expect(await ask("ann")).toMatchObject({ allowed: false, policy: "user:burst", retryAfter: 1_000 })
    // nothing was spent of the organisation's
    expect(await organisations.peek("acme")).toMatchObject({ remaining: 1 })
    expect(await ask("bob")).toMatchObject({ allowed: true, policy: "org:default", remaining: 0 })
    expect(await ask("cyd")).toMatchObject({ allowed: false, policy: "org:default", retryAfter: 60_000 })
    expect((await users.peek("cyd")).policies?.map(({ remaining }) => remaining)).toEqual([2, 9])
    clock.advance(60_000)
    expect(await ask("cyd")).toMatchObject({ allowed: true })
  })

  test("cost what each claim says", async () => {
    const { organisations, users } = setUp()
    const both = combine([organisations.on("acme", { cost: 3 }), users.on("ann", { cost: { daily: 5 } })])
    expect(await both.peek()).toMatchObject({ allowed: true })
    expect(await both.tryAcquire()).toMatchObject({ allowed: true })
    expect(await both.tryAcquire()).toMatchObject({ allowed: false })
    expect((await users.peek("ann")).policies?.map(({ remaining }) => remaining)).toEqual([1, 4])
  })

  test("may be of one limiter, for different keys", async () => {
    const { organisations } = setUp()
    const both = combine([organisations.on("acme"), organisations.on("parent")])
    expect(await both.tryAcquire()).toMatchObject({ allowed: true })
    expect(await organisations.peek("parent")).toMatchObject({ remaining: 2 })
  })

  test("are what they were when they were combined, whatever becomes of the list and of the claims", async () => {
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
    ["nothing", () => combine([]), "combine takes what limiter.on makes, got an array"],
    ["no list", () => combine(7 as never), "combine takes what limiter.on makes, got 7"],
    [
      "no claim",
      () => combine([{ limiter: "org", key: "k" }]),
      "combine takes what limiter.on makes, got an object",
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
      "combine takes at most 64 claims, got 65",
    ],
    [
      "those of two stores",
      () => combine([setUp().users.on("ann"), setUp().organisations.on("acme")]),
      "must share a store",
    ],
    ["a wrong key", () => setUp().users.on(""), "key must be a string that is not empty"],
    ["a wrong cost", () => setUp().users.on("ann", { cost: 0 }), "cost must be an integer"],
    [
      "a wrong option",
      () => setUp().users.on("ann", { timeout: 1 } as object),
      'an ask has no field "timeout"',
    ],
  ])("are not made of %s", (_, make, message) => {
    expect(make).toThrow(message)
  })

  test("are not asked through a limiter that is closed", async () => {
    const { organisations, users } = setUp()
    const both = combine([organisations.on("acme"), users.on("ann")])
    await users.close()
    await expect(both.tryAcquire()).rejects.toMatchObject({ code: "CLOSED" })
  })
})
