import { Redis } from "ioredis"
import { createLimiter, fixedWindow, type Policy, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { boundOf } from "../support/bounds.js"
import { type Admitted, type Load, sharedNow, startLeaseWorkers } from "../support/lease-workers.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"

const LASTS = 20_000
const LEASE = 100

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/**
 * 1, 2, 4 and 8 parts, above the limit of 2,000 a second also while the last one is idle. Now and then all are, so
 * that there is something to lease again.
 */
const loads: readonly Load[] = [
  { rate: 500, on: 9_500, off: 500 },
  { rate: 1_000, on: 9_500, off: 500 },
  { rate: 2_000, on: 9_500, off: 500 },
  { rate: 4_000, on: 700, off: 450 },
]

interface Worst {
  readonly ms: number
  readonly admitted: number
  readonly allowed: number
}

/**
 * The span, of all that begin and end with a millisecond, in which most was admitted of what may be in it and `extra`
 * milliseconds. Only what was asked for and told in a span was certainly decided in it.
 */
function worstSpan(policy: Policy, admitted: readonly Admitted[], extra: number): Worst {
  const requests = admitted.flatMap((each) => each.asks).sort(([a], [b]) => b - a)
  const length = requests.reduce((latest, [, toldAt]) => Math.max(latest, toldAt), 0) + 1
  const bound = boundOf(policy)
  const allowed = new Float64Array(length + 1)
  for (let ms = 1, most = 0; ms <= length; ms += 1) {
    const span = BigInt(Math.ceil((ms + extra) * 1_000))
    while (bound(BigInt(most + 1), span)) most += 1
    allowed[ms] = most
  }
  const told = new Float64Array(length)
  let worst: Worst = { ms: 0, admitted: 0, allowed: 1 }
  let share = 0
  for (let from = length - 1, next = 0; from >= 0; from -= 1) {
    for (; requests[next]?.[0] === from; next += 1) {
      const [, toldAt, count] = requests[next] as Admitted["asks"][number]
      told[toldAt] = (told[toldAt] as number) + count
    }
    let units = 0
    for (let to = from; to < length; to += 1) {
      units += told[to] as number
      const most = allowed[to - from + 1] as number
      if (units <= share * most) continue
      share = units / most
      worst = { ms: to - from + 1, admitted: units, allowed: most }
    }
  }
  return worst
}

/** Lower and upper bound in milliseconds of how far the clock of Redis is ahead of ours. */
async function ahead(): Promise<{ least: number; most: number }> {
  const asked = sharedNow()
  const [seconds, micros] = (await client.time()) as [number, number]
  const told = Number(seconds) * 1_000 + Number(micros) / 1_000
  return { least: told - sharedNow(), most: told - asked }
}

describe("four processes with leases of one limiter for twenty seconds", () => {
  const total = (admitted: readonly Admitted[]) =>
    admitted.reduce(
      (sum, { asks: requests }) => requests.reduce((units, [, , count]) => units + count, sum),
      0,
    )
  const reports: { bucket: Admitted[]; window: Admitted[] } = { bucket: [], window: [] }
  let drift = 0
  beforeAll(async () => {
    const workers = await startLeaseWorkers(server.port, loads.length)
    try {
      const before = await ahead()
      const start = sharedNow() + 200
      const told = await workers.work(loads.map((load) => ({ load, start, lasts: LASTS })))
      const after = await ahead()
      drift = Math.max(after.most - before.least, before.most - after.least, 0)
      reports.bucket = told.map(({ bucket }) => bucket)
      reports.window = told.map(({ window }) => window)
    } finally {
      await workers.kill()
    }
  }, LASTS + 60_000)

  const cases: readonly [name: "bucket" | "window", policy: Policy, most: number][] = [
    ["bucket", tokenBucket({ capacity: 2_000, refill: 2_000, every: "1s" }), 2_000 + 2 * LASTS],
    ["window", fixedWindow({ limit: 2_000, window: "1s" }), 2 * LASTS],
  ]

  test.each(cases)("admit in any span at most what a %s admits in it plus a lease", (name, policy) => {
    const admitted = reports[name]
    // The skew of Redis' clock against ours, including the time of the round trip.
    const worst = worstSpan(policy, admitted, LEASE + drift)
    expect(drift).toBeLessThan(50)
    expect(worst.admitted).toBeLessThanOrEqual(worst.allowed)
    for (const { leased } of admitted) expect(leased).toBeGreaterThan(0)
  })

  test.each(cases)("use up the limit of a %s", (name, _policy, most) => {
    expect(total(reports[name])).toBeGreaterThan(0.95 * most)
  })
})

test("a killed process leaves at most its leased units spent", async () => {
  const workers = await startLeaseWorkers(server.port, 1)
  let admitted = 0
  try {
    admitted = await workers.freeze(777)
  } finally {
    await workers.kill()
  }
  const policy = fixedWindow({ limit: 10_000, window: "1h" })
  await using limiter = createLimiter({ name: "frozen", policy, store: redisStore(ioredis(client)) })
  const { remaining } = await limiter.peek("k")
  const stranded = 10_000 - remaining - admitted
  expect(admitted).toBe(777)
  expect(stranded).toBeGreaterThan(0)
  expect(stranded).toBeLessThanOrEqual(0.1 * 10_000)
  expect((await limiter.tryAcquire("k", { cost: remaining })).allowed).toBe(true)
})
