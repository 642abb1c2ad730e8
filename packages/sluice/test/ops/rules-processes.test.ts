import { Redis } from "ioredis"
import { fixedWindow } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { createRules } from "sluice/rules"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import { startWorkers, type Workers } from "../support/workers.js"

/** A decision in one of the processes. */
export interface Sample {
  readonly key: string
  readonly t: number
  readonly allowed: boolean
  readonly limit: number
  readonly source: string
}

let server: RedisServer
let client: Redis
let workers: Workers<{ keys: string[]; until: number }, Sample[]>
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
  workers = await startWorkers("rules-worker.ts", [String(server.port)], 4)
})
afterAll(async () => {
  await workers.kill()
  client.disconnect()
  await server.stop()
})

const perHour = (limit: number) => fixedWindow({ limit, window: "1h" })
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test("a rule set in one process is in force in four others within a second, under load", async () => {
  const keys = ["blocked", "raised", "lowered", "ending", "removed", "acme:one", "acme:exact", "untouched"]
  const rules = createRules(redisStore(ioredis(client)))
  await rules.ready
  const work = workers.work(new Array(4).fill({ keys, until: Date.now() + 4_500 }))
  await sleep(300)
  await Promise.all([
    rules.block({ limiter: "api", key: "blocked" }),
    rules.set({ limiter: "api", key: "raised", policy: perHour(600) }),
    rules.set({ limiter: "api", key: "lowered", policy: perHour(50) }),
    rules.set({ limiter: "api", key: "ending", policy: perHour(500), until: 1_500 }),
    rules.set({ limiter: "api", key: "removed", policy: perHour(400) }),
    rules.set({ limiter: "api", pattern: "acme:*", policy: perHour(350) }),
    rules.set({ limiter: "api", key: "acme:exact", policy: perHour(450) }),
  ])
  const setAt = Date.now()
  await sleep(1_800)
  await rules.remove({ limiter: "api", key: "removed" })
  const removedAt = Date.now()
  const byProcess = await work
  rules.close()

  const seen = (key: string, from: number, to: number) =>
    byProcess.map((samples) => {
      const within = samples.filter((each) => each.key === key && each.t > from && each.t < to)
      expect(within.length, `decisions for ${key}`).toBeGreaterThan(5)
      return within
    })
  const limits = (key: string, from: number, to: number) => [
    ...new Set(seen(key, from, to).flatMap((samples) => samples.map(({ limit }) => limit))),
  ]
  const second = setAt + 1_000
  expect(
    seen("blocked", second, setAt + 4_000)
      .flat()
      .every(({ allowed, source }) => !allowed && source === "rule"),
  ).toBe(true)
  expect(limits("raised", second, setAt + 4_000)).toEqual([600])
  expect(limits("lowered", second, setAt + 4_000)).toEqual([50])
  expect(limits("ending", second, setAt + 1_300)).toEqual([500])
  expect(limits("ending", setAt + 2_500, setAt + 4_000)).toEqual([300])
  expect(limits("removed", second, removedAt - 50)).toEqual([400])
  expect(limits("removed", removedAt + 1_000, setAt + 4_000)).toEqual([300])
  expect(limits("acme:one", second, setAt + 4_000)).toEqual([350])
  expect(limits("acme:exact", second, setAt + 4_000)).toEqual([450])
  expect(limits("untouched", 0, setAt + 4_000)).toEqual([300])

  const admitted = (key: string) => byProcess.flat().filter((each) => each.key === key && each.allowed).length
  const larger = {
    raised: 600,
    lowered: 300,
    ending: 500,
    removed: 400,
    "acme:one": 350,
    "acme:exact": 450,
    untouched: 300,
  }
  for (const [key, limit] of Object.entries(larger)) expect(admitted(key), key).toBeLessThanOrEqual(limit)
  expect(admitted("raised")).toBeGreaterThan(300)
})
