import { createLimiter, leakyBucket, memoryStore, tokenBucket } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { distantStore, settled } from "../support/distant-store.js"
import { fetching } from "../support/fetching.js"
import { until } from "../support/watched-clock.js"

/** One unit at once, then one every 100 ms. */
const slow = tokenBucket({ capacity: 1, refill: 1, every: 100 })

const rig = fetching()

/** Fills the queue with waiters of one key, and returns how many it accepted. */
async function flood(acquire: () => Promise<unknown>): Promise<number> {
  let refused = 0
  const count = (error: { code?: string }) => {
    if (error.code === "QUEUE_FULL") refused += 1
  }
  for (let i = 0; i < 500; i += 1) acquire().catch(count)
  await settled()
  return 500 - refused
}

describe("one key that fills the queue", () => {
  test.each([
    ["memory", (clock: ReturnType<typeof manualClock>) => memoryStore({ clock })],
    ["distant", (clock: ReturnType<typeof manualClock>) => distantStore(clock)],
  ])("does not deny a request of another key that need not wait (%s store)", async (_, storeBy) => {
    const limiter = createLimiter({ policy: slow, store: storeBy(manualClock()), maxWaiters: 100 })
    await flood(() => limiter.acquire("attacker"))
    expect(await limiter.acquire("victim")).toMatchObject({ allowed: true })
    await limiter.close()
  })

  test("leaves places in the queue for other keys", async () => {
    const clock = manualClock()
    const limiter = createLimiter({ policy: slow, store: memoryStore({ clock }), maxWaiters: 100 })
    await flood(() => limiter.acquire("attacker"))
    await limiter.acquire("victim")
    let had = false
    const waiting = limiter.acquire("victim").then(() => {
      had = true
    })
    clock.advance(100)
    await waiting
    expect(had).toBe(true)
    await limiter.close()
  })

  test("gets half of the places, or a third beside a second busy key", async () => {
    const limiter = createLimiter({
      policy: slow,
      store: memoryStore({ clock: manualClock() }),
      maxWaiters: 100,
    })
    // One request of each key passes at once.
    expect(await flood(() => limiter.acquire("first"))).toBe(50 + 1)
    expect(await flood(() => limiter.acquire("second"))).toBe(25 + 1)
    expect(await flood(() => limiter.acquire("third"))).toBe(13 + 1)
    await limiter.close()
  })

  test("gets an error with the number of waiters and the time to retry", async () => {
    const limiter = createLimiter({
      name: "partner",
      policy: slow,
      store: memoryStore({ clock: manualClock() }),
      maxWaiters: 4,
    })
    await flood(() => limiter.acquire("attacker"))
    await expect(limiter.acquire("attacker")).rejects.toMatchObject({
      code: "QUEUE_FULL",
      message:
        'queue full: 2 requests for this key wait in limiter "partner", its share of maxWaiters, 4; retry in 300 ms, shed the work, or raise maxWaiters',
      decision: { allowed: false, retryAfter: 300 },
    })
    await limiter.close()
  })
})

test("the error for a full queue differs from that for a key's full share", async () => {
  const limiter = createLimiter({
    name: "partner",
    policy: slow,
    store: memoryStore({ clock: manualClock() }),
    maxWaiters: 1,
  })
  await flood(() => limiter.acquire("first"))
  await limiter.acquire("second")
  await expect(limiter.acquire("second")).rejects.toMatchObject({
    code: "QUEUE_FULL",
    message:
      'queue full: 1 request waits in limiter "partner", as many as maxWaiters allows; retry in 100 ms, shed the work, or raise maxWaiters',
  })
  await limiter.close()
})

test("the error for a full leaky bucket has its capacity and the time to retry", async () => {
  const limiter = createLimiter({
    name: "partner",
    policy: leakyBucket({ capacity: 2, leak: 1, every: 100 }),
    store: memoryStore({ clock: manualClock() }),
  })
  await flood(() => limiter.acquire("k"))
  await expect(limiter.acquire("k")).rejects.toMatchObject({
    code: "QUEUE_FULL",
    message:
      'queue full: policy "default" of limiter "partner" holds 2 units; retry in 100 ms, or shed the work',
  })
  await limiter.close()
})

test("calls paused by one host leave places in the queue for another host", async () => {
  const held = { status: 200, headers: { ratelimit: '"p";r=0;t=30' } }
  const [first, second] = await Promise.all([rig.upstream(held, {}), rig.upstream(held, {})])
  const fetch = rig.limited({ retries: 0 }, { maxWaiters: 4 })
  await Promise.all([fetch(first.url), fetch(second.url)])
  const calls = Array.from({ length: 10 }, () => fetch(first.url).catch((error) => error.code))
  await until(() => rig.clock.waiting === 2)
  const other = fetch(second.url)
  await until(() => rig.clock.waiting === 3)
  rig.clock.advance(31_001)
  expect((await other).status).toBe(200)
  expect((await Promise.all(calls)).filter((each) => each === "QUEUE_FULL")).toHaveLength(8)
})
