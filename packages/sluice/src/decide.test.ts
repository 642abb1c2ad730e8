import { expect, test } from "vitest"
import { createLimiter } from "./create-limiter.js"
import { fixedWindow, slidingLog, tokenBucket } from "./policy.js"
import { memoryStore } from "./stores/memory/memory-store.js"

const policy = {
  burst: tokenBucket({ capacity: 3, refill: 1, every: "2s" }),
  daily: fixedWindow({ limit: 2, window: "1d" }),
}

test("a decision names the window of its policy, whether it allows or denies", async () => {
  const limiter = createLimiter({ policy: slidingLog({ limit: 1, window: "5s" }) })
  const windows = [limiter.tryAcquire("k"), limiter.tryAcquire("k"), limiter.peek("k", { cost: 1 })]
  for (const decision of windows) expect(await decision).toMatchObject({ limit: 1, window: 5_000 })
})

test("with several policies, a decision names the window of each", async () => {
  const limiter = createLimiter({ policy })
  for (const allowed of [true, true, false]) {
    expect(await limiter.tryAcquire("k")).toMatchObject({
      allowed,
      policy: "daily",
      limit: 2,
      window: 86_400_000,
      policies: [
        { policy: "burst", limit: 3, window: 6_000 },
        { policy: "daily", limit: 2, window: 86_400_000 },
      ],
    })
  }
})

test("a policy given in a call names its own window", async () => {
  const limiter = createLimiter({ policy: slidingLog({ limit: 1, window: "5s" }), store: memoryStore() })
  const decision = await limiter.tryAcquire("k", { policy: slidingLog({ limit: 9, window: "7s" }) })
  expect(decision).toMatchObject({ limit: 9, window: 7_000 })
})
