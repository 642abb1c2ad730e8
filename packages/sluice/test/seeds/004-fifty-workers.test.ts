import { fixedWindow, type Limiter, leakyBucket, type Policy, slidingLog, tokenBucket } from "sluice"
import { type ManualClock, manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { mostIn, stores, useRig } from "./rig.js"

// Document 004: four Java classes. The first is tried with 50 workers that take 10 turns each, a tenth of
// a second between turns, at 16 in 10 s; the log it prints begins at 00:17:11 in China.
const rig = useRig()
const start = Date.parse("2025-03-15T00:17:11+08:00")

/** Lets the workers loose; each waits as long as it is told to. Returns when each turn was had. */
async function turns(limiter: Limiter, clock: ManualClock, each = 10, pause = 100): Promise<number[]> {
  let workers = Array.from({ length: 50 }, () => ({ wakeAt: clock(), left: each }))
  const had: number[] = []
  while (workers.length > 0) {
    const now = Math.min(...workers.map((worker) => worker.wakeAt))
    clock.set(now)
    const awake = workers.filter((worker) => worker.wakeAt === now)
    await Promise.all(
      awake.map(async (worker) => {
        const { allowed, retryAfter } = await limiter.tryAcquire("request_interface")
        if (!allowed) expect(retryAfter).toBeGreaterThan(0)
        worker.wakeAt += allowed ? pause : retryAfter
        if (!allowed) return
        had.push(now)
        worker.left -= 1
      }),
    )
    workers = workers.filter((worker) => worker.left > 0)
  }
  return had
}

function countBy(keys: readonly string[]): [key: string, count: number][] {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts]
}

const chinaTime = (ms: number) => new Date(ms + 8 * 3_600_000).toISOString().slice(11, 19)

describe.each(stores)("004 on the %s store", (store) => {
  const rates: [string, Policy][] = [
    ["the sliding window", slidingLog({ limit: 16, window: "10s" })],
    ["the token bucket", tokenBucket({ capacity: 16, refill: 16, every: "10s" })],
    ["the leaky bucket", leakyBucket({ capacity: 16, leak: 16, every: "10s" })],
  ]

  test("the fixed window gives 16 turns in each ten seconds of the clock, as in the printed log", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, fixedWindow({ limit: 16, window: "10s", align: "clock" }), clock)
    const had = await turns(limiter, clock)
    const log = countBy(had.map(chinaTime))
    expect(log.slice(0, 4)).toEqual([
      ["00:17:11", 16],
      ["00:17:20", 16],
      ["00:17:30", 16],
      ["00:17:40", 16],
    ])
    expect(had).toHaveLength(500)
    const windows = countBy(had.map((ms) => String(Math.floor(ms / 10_000))))
    expect(windows.map(([, count]) => count)).toEqual([...Array(31).fill(16), 4])
  })

  test("the fixed window gives up to 32 turns in ten seconds across an edge, as the document warns", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, fixedWindow({ limit: 16, window: "10s", align: "clock" }), clock)
    expect(mostIn(10_000, await turns(limiter, clock))).toBe(32)
  })

  test("the sliding window gives no more than 16 turns in any ten seconds", async () => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, slidingLog({ limit: 16, window: "10s" }), clock)
    const had = await turns(limiter, clock)
    expect(mostIn(10_000, had)).toBe(16)
    expect(had.filter((ms) => ms < start + 300_000)).toHaveLength(30 * 16)
    expect(had).toHaveLength(500)
  })

  test.each(rates.slice(1))("%s gives 16 turns at once and then one every 625 ms", async (_, policy) => {
    const clock = manualClock(start)
    const had = await turns(rig.limiter(store, policy, clock), clock, 4)
    expect(had.filter((ms) => ms === start)).toHaveLength(16)
    expect(had.slice(16)).toEqual(Array.from({ length: 184 }, (_, turn) => start + (turn + 1) * 625))
  })

  test.each(rates)("%s gives the turns of the long run at its rate", async (_, policy) => {
    const clock = manualClock(start)
    const limiter = rig.limiter(store, policy, clock)
    let had = 0
    for (; clock() <= start + 600_000; clock.advance(500)) {
      if ((await limiter.tryAcquire("request_interface")).allowed) had += 1
    }
    expect(had).toBe(policy.algorithm === "slidingLog" ? 16 * 60 + 1 : 16 + 16 * 60)
  })
})
