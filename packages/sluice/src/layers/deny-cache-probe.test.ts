import { describe, expect, test } from "vitest"
import { distantStore, type Errand, settled, soon, whenTold } from "../../test/support/distant-store.js"
import { createLimiter } from "../create-limiter.js"
import { fixedWindow, type Policy, slidingLog, tokenBucket } from "../policy.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { manualClock } from "../testing/manual-clock.js"

const hourly = fixedWindow({ limit: 3, window: "1h" })

/** A limiter with a deny cache. `route` can be replaced, and after `hold()` it no longer replies by itself. */
function setUp(policy: Policy) {
  const clock = manualClock()
  let route: (errand: Errand) => void = soon
  const store = distantStore(clock, (errand) => route(errand))
  const limiter = createLimiter({ policy, store })
  const hold = () => {
    route = whenTold
    return store.errands.length
  }
  const release = () => {
    route = soon
  }
  const answerAll = () => {
    for (const errand of store.errands) errand.answer()
  }
  return { clock, store, limiter, hold, release, answerAll }
}

/** A denied key, shortly after its denial has expired. */
async function expired(policy: Policy, after = 1_000) {
  const rig = setUp(policy)
  await rig.limiter.tryAcquire("k", { cost: 3 })
  await rig.limiter.tryAcquire("k")
  rig.clock.advance(after)
  return rig
}

describe("after a cached denial has expired", () => {
  test("one request probes the store, and similar requests wait for its result", async () => {
    const { store, limiter, hold, answerAll } = await expired(hourly)
    hold()
    const before = store.asked
    const costs = [...Array(100).fill(1), 2]
    const requests = costs.map((cost) => limiter.tryAcquire("k", { cost }))
    await settled()
    expect(store.asked).toBe(before + 1)
    answerAll()
    const sources = (await Promise.all(requests)).map(({ source }) => source)
    expect(sources).toEqual(["store", ...Array(100).fill("cache")])
  })

  test("requests that the probe says nothing about do not wait for it", async () => {
    const { store, limiter, hold } = await expired(slidingLog({ limit: 3, window: "1h" }))
    hold()
    const before = store.asked
    for (const cost of [1, 2, 3]) limiter.tryAcquire("k", { cost })
    limiter.peek("k")
    limiter.tryAcquire("other")
    await settled()
    expect(store.asked).toBe(before + 5)
  })

  test("the waiting requests are sent when the probe was granted", async () => {
    const { store, limiter, hold, release, answerAll } = await expired(
      fixedWindow({ limit: 3, window: 500 }),
      500,
    )
    const before = hold() && store.asked
    const requests = Array.from({ length: 5 }, () => limiter.tryAcquire("k"))
    await settled()
    release()
    answerAll()
    const decisions = await Promise.all(requests)
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false])
    expect(decisions.every(({ source }) => source === "store")).toBe(true)
    expect(store.asked).toBe(before + 5)
  })

  test("the waiting requests are sent when the probe failed", async () => {
    const { store, limiter, hold, release } = await expired(hourly)
    const at = hold()
    const requests = Array.from({ length: 5 }, () => limiter.tryAcquire("k"))
    await settled()
    release()
    store.errands[at]?.fail()
    const [probe, ...others] = await Promise.allSettled(requests)
    expect(probe?.status).toBe("rejected")
    for (const other of others) {
      expect(other).toMatchObject({ status: "fulfilled", value: { allowed: false, source: "store" } })
    }
  })

  test("each request fails once while the store stays unreachable", async () => {
    const { store, limiter, hold } = await expired(hourly)
    let at = hold()
    const before = store.asked
    const requests = Promise.allSettled(Array.from({ length: 5 }, () => limiter.tryAcquire("k")))
    for (let round = 0; round < 3; round += 1) {
      await settled()
      for (; at < store.errands.length; at += 1) store.errands[at]?.fail()
    }
    expect((await requests).every(({ status }) => status === "rejected")).toBe(true)
    expect(store.asked).toBe(before + 5)
  })

  test("a probe without a reply delays other requests for at most one second", async () => {
    const { clock, store, limiter, hold, release } = await expired(hourly)
    hold()
    limiter.tryAcquire("k")
    await settled()
    release()
    clock.advance(1_001)
    const before = store.asked
    expect(await limiter.tryAcquire("k")).toMatchObject({ allowed: false, source: "store" })
    expect(store.asked).toBe(before + 1)
  })

  test("a give-back during the probe sends the waiting requests to the store", async () => {
    const { store, limiter, hold, release } = await expired(hourly)
    const at = hold()
    const requests = Array.from({ length: 3 }, () => limiter.tryAcquire("k"))
    store.errands[at]?.decide()
    release()
    await limiter.refund("k", 1)
    store.errands[at]?.answer()
    const allowed = (await Promise.all(requests)).map((decision) => decision.allowed)
    expect(allowed).toEqual([false, true, false])
  })
})

describe("256 callers that retry in a loop", () => {
  /**
   * Lets them send requests for `ms` milliseconds, with replies that take `trip`, while a rival spends whatever comes back.
   * Returns the times of the calls to the store, and more.
   */
  async function loop(policy: Policy, ms: number, trip: number, rival = false) {
    const clock = manualClock()
    const start = clock()
    const underWay: { readonly due: number; readonly errand: Errand }[] = []
    const baseStore = memoryStore({ clock })
    const direct = createLimiter({ policy, store: baseStore })
    const store = distantStore(clock, (errand) => underWay.push({ due: clock() + trip, errand }), baseStore)
    const limiter = createLimiter({ policy, store })
    const moments = new Set<number>()
    let longest = 0
    const resting: (() => void)[] = []
    const caller = async () => {
      while (clock() < start + ms) {
        const since = clock()
        await limiter.tryAcquire("k")
        longest = Math.max(longest, clock() - since)
        await new Promise<void>((resume) => resting.push(resume))
      }
    }
    const callers = Promise.all(Array.from({ length: 256 }, caller))
    let over = false
    callers.finally(() => {
      over = true
    })
    while (!over) {
      await settled()
      if (underWay.some(({ due }) => due === clock() + trip)) moments.add(clock() - start)
      while ((underWay[0]?.due ?? Infinity) <= clock()) underWay.shift()?.errand.answer()
      await settled()
      clock.advance(1)
      if (rival) await direct.tryAcquire("k")
      for (const resume of resting.splice(0)) resume()
    }
    return { asked: store.asked, moments: [...moments], longest }
  }

  test("make one call a second if the wait is long", async () => {
    const { asked, moments } = await loop(hourly, 5_000, 2)
    // Nothing is remembered until the first reply arrives.
    expect(moments).toEqual([0, 1_000, 2_000, 3_000, 4_000])
    expect(asked).toBe(256 + 4)
  })

  test("make one probe and one more call each time that units may have returned", async () => {
    const { moments } = await loop(tokenBucket({ capacity: 3, refill: 1, every: 100 }), 2_000, 2)
    expect(moments.length).toBeLessThanOrEqual(2 * (2_000 / 100))
  })

  test("do not queue up if denials have expired when they arrive", async () => {
    const { longest } = await loop(tokenBucket({ capacity: 3, refill: 1, every: 5 }), 400, 20, true)
    expect(longest).toBeLessThanOrEqual(2 * 20)
  })
})
