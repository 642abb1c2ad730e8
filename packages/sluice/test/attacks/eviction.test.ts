import { createLimiter, fixedWindow, memoryStore, type Policy, slidingLog, tokenBucket } from "sluice"
import { describe, expect, test } from "vitest"
import { flakyStore } from "../support/flaky-store.js"

const policies: [name: string, policy: Policy][] = [
  ["fixedWindow", fixedWindow({ limit: 5, window: "1h" })],
  ["slidingLog", slidingLog({ limit: 5, window: "1h" })],
  ["tokenBucket", tokenBucket({ capacity: 5, refill: 1, every: "1h" })],
]

/** As many keys as the fallback counts in an outage. */
const MOST_LOCAL = 100_000

describe("made-up keys do not give an exhausted key its quota back", () => {
  test.each(policies)("in a memory store that is full (%s)", async (_, policy) => {
    const maxKeys = 1_000
    const limiter = createLimiter({ policy, store: memoryStore({ maxKeys }) })
    expect((await limiter.tryAcquire("exhausted", { cost: 5 })).allowed).toBe(true)
    for (let i = 0; i < 1.1 * maxKeys; i += 1) await limiter.tryAcquire(`junk ${i}`)
    expect((await limiter.tryAcquire("exhausted")).allowed).toBe(false)
    await limiter.close()
  })

  test.each(policies)("in the local store of an outage (%s)", async (name, policy) => {
    const { store, failWith } = flakyStore()
    const limiter = createLimiter({
      name: `evicted ${name}`,
      policy,
      store,
      outage: { then: { local: 1 }, onChange: () => {} },
    })
    failWith(() => new Error("down"))
    expect(await limiter.tryAcquire("exhausted", { cost: 5 })).toMatchObject({
      allowed: true,
      degraded: true,
    })
    for (let i = 0; i < 1.1 * MOST_LOCAL; i += 1) {
      // While the circuit is open, each reply takes a turn of the event loop. So many requests share one.
      const request = limiter.tryAcquire(`junk ${i}`)
      if (i % 1_000 === 0) await request
    }
    expect(await limiter.tryAcquire("exhausted")).toMatchObject({ allowed: false, degraded: true })
    await limiter.close()
  })
})
