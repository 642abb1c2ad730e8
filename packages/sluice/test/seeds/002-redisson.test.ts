import { slidingLog } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { stores, useRig } from "./rig.js"

// Document 002: Redisson's script line by line, and four requests worked through with 100 per 1000 ms.
// It calls this a token bucket, but permits come back one interval after each was given: a sliding log.
const rig = useRig()
const policy = slidingLog({ limit: 100, window: 1_000 })

describe.each(stores)("002 on the %s store", (store) => {
  test("the four requests end as they do in the document, but for an exact wait", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, policy, clock)
    const request = (at: number, cost: number) => {
      clock.set(at)
      return limiter.tryAcquire("order-limiter", { cost })
    }
    expect(await request(10_000, 5)).toMatchObject({ allowed: true, remaining: 95 })
    expect(await request(10_100, 30)).toMatchObject({ allowed: true, remaining: 65 })
    // The document says 803: until the first entry leaves at 11,000, and 3 more. But those are 5 permits
    // of the 35 that are missing; the other 30 leave at 11,100. Until then 100 do not fit, so 900 it is.
    expect(await request(10_200, 100)).toMatchObject({ allowed: false, remaining: 65, retryAfter: 900 })
    expect(await request(11_200, 50)).toMatchObject({ allowed: true, remaining: 50 })
  })

  test("the document's script gives and refuses the same", async () => {
    const clock = manualClock()
    const keys = ["settings", "value", "value:client", "permits", "permits:client"].map(
      (k) => `${store}:${k}`,
    )
    await rig.client.hset(`${store}:settings`, { rate: 100, interval: 1_000, type: 0 })
    const limiter = rig.limiter(store, policy, clock)
    const asks: [at: number, cost: number, wait: number | null][] = [
      [10_000, 5, null],
      [10_100, 30, null],
      [10_200, 100, 803],
      [11_200, 50, null],
    ]
    for (const [at, cost, wait] of asks) {
      clock.set(at)
      expect(await rig.run("002-redisson", clock, keys, cost, at, `req-${at}`)).toBe(wait)
      expect((await limiter.tryAcquire("order-limiter", { cost })).allowed).toBe(wait === null)
    }
  })
})
