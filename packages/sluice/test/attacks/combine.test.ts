import { combine, createLimiter, fixedWindow, type OutagePolicy, SluiceError } from "sluice"
import { describe, expect, test } from "vitest"
import { flakyStore } from "../support/flaky-store.js"

const policy = fixedWindow({ limit: 5, window: "1h" })

/** Two limiters with these outage policies, on a store that is unreachable. */
function inAnOutage(...then: [OutagePolicy, OutagePolicy]) {
  const { store, failWith } = flakyStore()
  failWith(() => new SluiceError("STORE_REFUSED", "connection refused"))
  const [organisations, users] = then.map((each, i) =>
    createLimiter({ name: i === 0 ? "org" : "user", policy, store, outage: { then: each } }),
  )
  return combine([organisations?.on("acme"), users?.on("ann")] as never)
}

describe("in an outage, a combined request", () => {
  test.each<[OutagePolicy, OutagePolicy]>([
    ["open", "closed"],
    ["throw", "closed"],
    [{ local: 1 }, "closed"],
  ])("is denied if one of the limiters is closed (%o, %o)", async (a, b) => {
    for (const both of [inAnOutage(a, b), inAnOutage(b, a)]) {
      expect(await both.tryAcquire()).toMatchObject({ allowed: false, degraded: true })
    }
  })

  test("rejects if one of the limiters throws and the other is open", async () => {
    for (const both of [inAnOutage("open", "throw"), inAnOutage("throw", "open")]) {
      await expect(both.tryAcquire()).rejects.toMatchObject({ code: "STORE_REFUSED" })
    }
  })

  test("uses the smaller share if both limiters count locally", async () => {
    for (const both of [
      inAnOutage({ local: 0.2 }, { local: 1 }),
      inAnOutage({ local: 1 }, { local: 0.2 }),
      inAnOutage("open", { local: 0.2 }),
    ]) {
      expect(await both.tryAcquire()).toMatchObject({ allowed: true, degraded: true })
      expect(await both.tryAcquire()).toMatchObject({ allowed: false, degraded: true })
    }
  })
})

describe("an exhausted key among combined ones", () => {
  const setUp = () => {
    const flaky = flakyStore()
    const organisations = createLimiter({ name: "org", policy, store: flaky.store })
    const users = createLimiter({ name: "user", policy, store: flaky.store })
    return { flaky, organisations, users }
  }

  test("costs one call to the store, however many requests combine it with other keys", async () => {
    const { flaky, organisations, users } = setUp()
    await organisations.tryAcquire("acme", { cost: 5 })
    const before = flaky.calls
    for (let i = 0; i < 200; i += 1) {
      const decision = await combine([users.on(`user ${i}`), organisations.on("acme")]).tryAcquire()
      expect(decision).toMatchObject({ allowed: false, policy: "org:default", remaining: 0 })
    }
    expect(flaky.calls - before).toBe(1)
  })

  test("is denied from the cache for its limiter alone too, and the other way round", async () => {
    const { flaky, organisations, users } = setUp()
    await organisations.tryAcquire("acme", { cost: 5 })
    await combine([users.on("ann"), organisations.on("acme")]).tryAcquire()
    const before = flaky.calls
    expect(await organisations.tryAcquire("acme")).toMatchObject({ allowed: false, source: "cache" })
    // The key with room is not denied.
    expect(await users.tryAcquire("ann")).toMatchObject({ allowed: true, remaining: 4 })
    expect(flaky.calls - before).toBe(1)
  })

  test("is requested from the store again after a refund", async () => {
    const { organisations, users } = setUp()
    await organisations.tryAcquire("acme", { cost: 5 })
    const both = combine([users.on("ann"), organisations.on("acme")])
    expect(await both.tryAcquire()).toMatchObject({ allowed: false, source: "store" })
    expect(await both.tryAcquire()).toMatchObject({ allowed: false, source: "cache" })
    await organisations.refund("acme", 1)
    expect(await both.tryAcquire()).toMatchObject({ allowed: true, source: "store" })
  })
})
