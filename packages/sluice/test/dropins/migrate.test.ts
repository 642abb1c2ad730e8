import { afterAll, beforeAll, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"

let server: RedisServer
let bottleneck: typeof import("../../../../examples/migrate/bottleneck.js")

beforeAll(async () => {
  server = await startRedis()
  process.env["REDIS_URL"] = `redis://127.0.0.1:${server.port}`
  bottleneck = await import("../../../../examples/migrate/bottleneck.js")
})

afterAll(async () => {
  bottleneck.client.disconnect()
  await server.stop()
})

test("three jobs that the Bottleneck example schedules in parallel run 200 ms apart", async () => {
  const start = performance.now()
  const ended = await Promise.all(
    [1, 2, 3].map(async (id) => {
      expect(await bottleneck.schedule(id)).toBe(`answer ${id}`)
      return performance.now() - start
    }),
  )
  const [, second, third] = ended.sort((a, b) => a - b) as [number, number, number]
  expect(second).toBeGreaterThan(190)
  expect(third).toBeGreaterThan(390)
})

test("three weighted jobs and three jobs of one customer wait for their turns too", async () => {
  const { signal } = new AbortController()
  expect(await Promise.all([1, 2, 3].map((id) => bottleneck.weighted(id, signal)))).toHaveLength(3)
  const start = performance.now()
  expect(await Promise.all([1, 2, 3].map((id) => bottleneck.byCustomer("acme", id)))).toHaveLength(3)
  expect(performance.now() - start).toBeGreaterThan(1_900)
})
