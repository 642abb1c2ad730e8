import { combine, createLimiter, fixedWindow, memoryStore, slidingLog, tokenBucket } from "sluice"
import type { StateRef } from "sluice/store"
import { manualClock } from "sluice/testing"
import { describe, expect, expectTypeOf, test } from "vitest"
import { settled } from "../test/support/distant-store.js"
import { flakyStore } from "../test/support/flaky-store.js"

const orgPolicy = fixedWindow({ limit: 10, window: "1m" })
const userPolicy = {
  requests: slidingLog({ limit: 4, window: "1m" }),
  tokens: tokenBucket({ capacity: 1_000, refill: 1_000, every: "1m" }),
}

function setUp() {
  const clock = manualClock()
  const store = memoryStore({ clock })
  return { clock, ...limitersOn(store) }
}

function limitersOn(store: ReturnType<typeof memoryStore> | ReturnType<typeof flakyStore>["store"]) {
  const organisations = createLimiter({ name: "org", policy: orgPolicy, store })
  const users = createLimiter({ name: "user", policy: userPolicy, store })
  const left = async () => [
    (await organisations.peek("acme")).remaining,
    ...((await users.peek("ann")).policies?.map(({ remaining }) => remaining) ?? []),
  ]
  return { organisations, users, left }
}

describe.each([
  ["in one step", () => limitersOn(memoryStore({ clock: manualClock() }))],
  // Each key is in its own slot.
  [
    "in different slots",
    () =>
      limitersOn(
        flakyStore(
          (places) => (places.every(({ key }) => key === places[0]?.key) ? `${places[0]?.key}` : ""),
          manualClock(),
        ).store,
      ),
  ],
])("a combined budget, %s", (_, make) => {
  test("reserves in all limiters, and is settled with the actual cost of each policy", async () => {
    const { organisations, users, left } = make()
    const both = combine([organisations.on("acme", { cost: 3 }), users.on("ann", { cost: { tokens: 500 } })])
    const reservation = await both.reserve()
    expect(reservation.decision).toMatchObject({ allowed: true })
    expect(reservation.decision.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ["org:default", 7],
      ["user:requests", 3],
      ["user:tokens", 500],
    ])
    expect(await left()).toEqual([7, 3, 500])
    expect(await reservation.settle({ "org:default": 1, "user:tokens": 700 })).toBe(true)
    expect(await left()).toEqual([9, 3, 300])
    expect(await reservation.cancel()).toBe(false)
  })

  test("is cancelled in all limiters, by any process with its id", async () => {
    const { organisations, users, left } = make()
    const both = () => combine([organisations.on("acme"), users.on("ann")])
    const { id } = await both().reserve()
    expect(await left()).toEqual([9, 3, 999])
    expect(await both().reservation(id).cancel()).toBe(true)
    expect(await left()).toEqual([10, 4, 1_000])
  })

  test("spends nothing if one limiter denies", async () => {
    const { organisations, users, left } = make()
    const both = combine([organisations.on("acme"), users.on("ann", { cost: { requests: 5 } })])
    const { decision, cancel } = await both.reserve()
    expect(decision).toMatchObject({ allowed: false, policy: "user:requests" })
    expect(await left()).toEqual([10, 4, 1_000])
    expect(await cancel()).toBe(false)
  })

  test("charges only the named policies, into debt", async () => {
    const { organisations, users, left } = make()
    const both = combine([organisations.on("acme"), users.on("ann")])
    expect(await both.charge({ "org:default": 2, "user:tokens": 300 })).toMatchObject({ allowed: true })
    expect(await left()).toEqual([8, 4, 700])
    expect(await both.charge({ "user:tokens": 1_500 })).toMatchObject({ allowed: false })
    expect(await left()).toEqual([8, 4, 0])
    // @ts-expect-error: it would charge every policy
    await expect(both.charge(5)).rejects.toMatchObject({ code: "INVALID_COST" })
  })
})

describe("a combined wait", () => {
  test("gets its turn when all limiters have room", async () => {
    const { clock, organisations, users, left } = setUp()
    await organisations.tryAcquire("acme", { cost: 10 })
    const both = combine([organisations.on("acme"), users.on("ann")])
    let had = false
    const waited = both.acquire().then(() => {
      had = true
    })
    await settled()
    expect(had).toBe(false)
    clock.advance(60_000)
    await waited
    expect(await left()).toEqual([9, 3, 999])
  })

  test("rejects with the reason of its signal, and gives its turn back", async () => {
    const { organisations, users } = setUp()
    await organisations.tryAcquire("acme", { cost: 10 })
    const gaveUp = new AbortController()
    const waited = combine([organisations.on("acme"), users.on("ann")]).acquire({ signal: gaveUp.signal })
    const expected = expect(waited).rejects.toBe("enough")
    await settled()
    gaveUp.abort("enough")
    await expected
    expect((await users.peek("ann")).policies?.map(({ remaining }) => remaining)).toEqual([4, 1_000])
  })

  test("is denied at once if its turn comes after the timeout", async () => {
    const { organisations, users } = setUp()
    await organisations.tryAcquire("acme", { cost: 10 })
    const both = combine([organisations.on("acme"), users.on("ann")])
    expect(await both.tryAcquire({ timeout: 10 })).toMatchObject({ allowed: false, retryAfter: 60_000 })
  })

  test("has its own queue if only the first key is the same", async () => {
    const { clock, organisations, users } = setUp()
    await organisations.tryAcquire("acme", { cost: 10 })
    const waits = ["ann", "bob"].map((user) => combine([organisations.on("acme"), users.on(user)]).acquire())
    await settled()
    clock.advance(60_000)
    await Promise.all(waits)
    for (const user of ["ann", "bob"]) {
      expect((await users.peek(user)).policies?.[0]).toMatchObject({ remaining: 3 })
    }
  })

  test("over keys in different slots rejects, with a hint what to do instead", async () => {
    const shardOf = (places: readonly StateRef[]) =>
      new Set(places.map(({ key }) => key)).size > 1 ? "" : "one"
    const { store } = flakyStore(shardOf, manualClock())
    const { organisations, users, left } = limitersOn(store)
    const both = combine([organisations.on("acme"), users.on("ann")])
    for (const call of [() => both.acquire(), () => both.tryAcquire({ timeout: 5 })]) {
      await expect(call()).rejects.toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining("different slots of a Cluster"),
      })
    }
    expect(await left()).toEqual([10, 4, 1_000])
  })
})

test("the names of combined policies are known in types", async () => {
  const { organisations, users } = setUp()
  const both = combine([organisations.on("acme"), users.on("ann")])
  const decision = await both.tryAcquire()
  expectTypeOf(decision.policy).toEqualTypeOf<"org:default" | "user:requests" | "user:tokens">()
  // @ts-expect-error: there is no such policy
  await expect(both.charge({ "user:token": 5 })).rejects.toMatchObject({ code: "INVALID_COST" })
})
