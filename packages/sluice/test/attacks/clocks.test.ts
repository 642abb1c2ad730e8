import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Policy, slidingLog, tokenBucket } from "sluice"
import { ioredis, ioredisSettings, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest"
import { clientKinds } from "../support/clients.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ ...ioredisSettings, host: server.host, port: server.port, enableOfflineQueue: true })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

let warnings: string[] = []
const emitWarning = process.emitWarning
beforeEach(() => {
  warnings = []
  process.emitWarning = (warning: string | Error) => {
    warnings.push(String(warning))
  }
})
afterEach(() => {
  process.emitWarning = emitWarning
})

const second = fixedWindow({ limit: 10, window: "1s" })
const minute = slidingLog({ limit: 10, window: "1m" })

/** Asks by a clock, and then for the time, so that the comparison is over. */
async function askBy(clock: () => number, policy: Policy) {
  const limiter = createLimiter({ policy, store: redisStore(ioredis(client), { clock, prefix: "clocks" }) })
  for (let i = 0; i < 3; i += 1) await limiter.tryAcquire(`${clock()}`)
  await client.call("TIME")
  await limiter.close()
}

const shifted = (ms: number) => () => Date.now() + ms

test.each([
  [5_000, second],
  [-5_000, second],
  [700, second],
  [40_000, minute],
  [-5_000, tokenBucket({ capacity: 10, refill: 10, every: "1s" })],
])("a clock that is %i ms off is reported once, if the windows are short", async (ms, policy) => {
  await askBy(shifted(ms), policy)
  await vi.waitFor(() => expect(warnings).toHaveLength(1))
  expect(warnings[0]).toContain("differs from the server's by")
})

test.each([
  [0, second],
  [200, second],
  [-20_000, minute],
])("a clock that is %i ms off is not reported if the windows are long enough", async (ms, policy) => {
  await askBy(shifted(ms), policy)
  expect(warnings).toEqual([])
})

test("a clock of a test is not reported", async () => {
  await askBy(manualClock(), second)
  expect(warnings).toEqual([])
})

test.each(clientKinds)("a clock that is off is reported through $name", async ({ single }) => {
  const connected = await single(server.port)
  const store = redisStore(connected.client, { clock: shifted(5_000), prefix: "kinds" })
  const limiter = createLimiter({ policy: second, store })
  await limiter.tryAcquire("k")
  await vi.waitFor(() => expect(warnings.join()).toContain("differs from the server's by"))
  await limiter.close()
  await connected.close()
})
