import { expect, inject, test } from "vitest"
import { createConsumer, run } from "./consumer.js"

const use = `
  const limiter = createLimiter({ name: "api", policy: tokenBucket({ capacity: 100, refill: 10, every: "1s" }) })
  const print = (decision) => console.log(decision.allowed, decision.remaining)
  const all = [limitedFetch, redisStore, glide, ioredis, nodeRedis, redissonRateLimiter, conformance, manualClock]
  console.log(all.includes(undefined))
`

const printed = "false\ntrue 99\n"

test("an ES module imports every entry point", async () => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.js": `
      import { createLimiter, tokenBucket } from "sluice"
      import { limitedFetch } from "sluice/fetch"
      import { glide, ioredis, nodeRedis, redisStore } from "sluice/redis"
      import { redissonRateLimiter } from "sluice/redisson"
      import { conformance, manualClock } from "sluice/testing"
      ${use}
      print(await limiter.tryAcquire("user:42"))
    `,
  })
  expect(await run(consumer.folder, "node", "main.js")).toBe(printed)
})

test("a CommonJS module requires every entry point", async () => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.cjs": `
      const { createLimiter, tokenBucket } = require("sluice")
      const { limitedFetch } = require("sluice/fetch")
      const { glide, ioredis, nodeRedis, redisStore } = require("sluice/redis")
      const { redissonRateLimiter } = require("sluice/redisson")
      const { conformance, manualClock } = require("sluice/testing")
      ${use}
      limiter.tryAcquire("user:42").then(print)
    `,
  })
  expect(await run(consumer.folder, "node", "main.cjs")).toBe(printed)
})
