import { describe, expect, test } from "vitest"
import { distantStore } from "../../test/support/distant-store.js"
import { createLimiter } from "../create-limiter.js"
import { charges, namePolicies } from "../policies.js"
import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "../policy.js"
import { shortcutOf } from "../shortcut.js"
import { scopeOf } from "../state-key.js"
import { manualClock } from "../testing/manual-clock.js"
import { denyCache } from "./deny-cache.js"

const bucket = tokenBucket({ capacity: 5, refill: 1, every: 13 })

const policies: Record<string, Policy> = {
  fixedWindow: fixedWindow({ limit: 5, window: 40 }),
  slidingLog: slidingLog({ limit: 5, window: 40 }),
  slidingWindow: slidingWindow({ limit: 5, window: 40, buckets: 4 }),
  tokenBucket: bucket,
  "tokenBucket with parts": tokenBucket({ capacity: 5, refill: 7, every: 99 }),
  "tokenBucket by intervals": tokenBucket({ capacity: 5, refill: 2, every: 13, mode: "interval" }),
  leakyBucket: leakyBucket({ capacity: 5, leak: 7, every: 99 }),
}

/** A limiter whose key is denied what costs this much, at some fraction of a millisecond. */
async function denied(policy: Policy, cost: number) {
  const clock = manualClock()
  const store = distantStore(clock)
  const limiter = createLimiter({ policy, store })
  for (const us of [0, 377, 1_913, 2_251, 6_007]) {
    clock.set(1_000 + us / 1_000)
    await limiter.tryAcquire("k")
  }
  clock.set(1_009.123)
  expect(await limiter.tryAcquire("k", { cost })).toMatchObject({ allowed: false, source: "store" })
  const shortcut = (asked: number) =>
    shortcutOf(
      denyCache(store),
      charges(
        namePolicies(policy, (name) => scopeOf("default", name)),
        "",
        asked,
      ),
    )
  return { clock, limiter, shortcut }
}

describe.each(Object.keys(policies))("a denial by %s, said again and again", (name) => {
  const policy = policies[name] as Policy

  test("is said as it stands, to the microsecond", async () => {
    // what costs more is denied longer: meanwhile units come back
    for (const cost of [1, 3]) {
      const { clock, limiter, shortcut } = await denied(policy, cost)
      const say = shortcut(cost)
      let said = 0
      for (let us = 0; us < 30_000; us += 1 + ((us * 7) % 41)) {
        clock.set(1_009.123 + us / 1_000)
        const exact = await limiter.tryAcquire("k", { cost })
        if (exact.source !== "cache") break
        expect(say?.("k")).toEqual(exact)
        said += 1
      }
      expect(said).toBeGreaterThan(20)
    }
  })

  test("is said as it was by a clock that was set back", async () => {
    const { clock, limiter, shortcut } = await denied(policy, 1)
    const say = shortcut(1)
    for (let us = 990; us >= 0; us -= 30) {
      clock.set(1_009.123 + us / 1_000)
      const exact = await limiter.tryAcquire("k", { cost: 1 })
      expect(exact.source).toBe("cache")
      expect(say?.("k")).toEqual(exact)
    }
  })

  test("is an object for each who asks", async () => {
    const { shortcut } = await denied(policy, 1)
    const say = shortcut(1)
    const first = say?.("k") as { retryAfter: number }
    const { retryAfter } = first
    first.retryAfter = -1
    expect(say?.("k")).toMatchObject({ retryAfter })
  })
})

test("a denial is said to each cost as it is for that", async () => {
  const { clock, limiter, shortcut } = await denied(bucket, 1)
  const [one, two] = [shortcut(1), shortcut(2)]
  for (let us = 0; us < 300; us += 10) {
    clock.set(1_009.123 + us / 1_000)
    expect(one?.("k")).toEqual(await limiter.tryAcquire("k", { cost: 1 }))
    expect(two?.("k")).toEqual(await limiter.tryAcquire("k", { cost: 2 }))
  }
})
