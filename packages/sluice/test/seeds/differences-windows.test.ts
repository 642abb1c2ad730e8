import { fixedWindow, slidingLog, slidingWindow } from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { burst, mostIn, stores, useRig } from "./rig.js"

// Where the windows differ from the documents on purpose; docs/seeds.md says why.
const rig = useRig()

/** The moments, of `seconds` asks once a second, at which `ask` let one pass. */
async function onceASecond(
  clock: ReturnType<typeof manualClock>,
  seconds: number,
  request: () => Promise<boolean>,
): Promise<number[]> {
  const passed: number[] = []
  for (let second = 0; second < seconds; second += 1) {
    if (await request()) passed.push(second)
    clock.advance(1_000)
  }
  return passed
}

describe.each(stores)("windows on the %s store", (store) => {
  test("a sliding window holds its limit where 000 admits it twice", async () => {
    // six buckets of ten seconds; a hundred requests in the last second of one
    const clock = manualClock(1_662_365_040_000 + 9_000)
    const limiter = rig.limiter(store, slidingWindow({ limit: 100, window: "60s", buckets: 6 }), clock)
    const script = () => rig.run("000-sliding-window", clock, [`twice-${store}`], 100, 60, clock() / 1_000, 6)
    expect(await burst(() => limiter.tryAcquire("user"), 150)).toBe(100)
    expect(await burst(script, 150)).toBe(100)
    clock.advance(52_000)
    expect(await burst(script, 150)).toBe(100)
    expect(await burst(() => limiter.tryAcquire("user"), 150)).toBe(0)
    expect((await limiter.peek("user")).retryAfter).toBe(8_000)
  })

  test("a sliding window gives a unit back after one window where 000 holds it a second longer", async () => {
    const clock = manualClock(1_662_365_040_000)
    const limiter = rig.limiter(store, slidingWindow({ limit: 1, window: "60s", buckets: 60 }), clock)
    const script = () => rig.run("000-sliding-window", clock, [`longer-${store}`], 1, 60, clock() / 1_000, 60)
    expect(await script()).toBe(1)
    expect((await limiter.tryAcquire("user")).allowed).toBe(true)
    clock.advance(60_000)
    expect(await script()).toBe(0)
    expect((await limiter.tryAcquire("user")).allowed).toBe(true)
    clock.advance(1_000)
    expect(await script()).toBe(1)
  })

  test("a denied request is not counted where the counters of 000 and 001 count it", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, fixedWindow({ limit: 100, window: "60s" }), clock)
    const first = `counted-000-${store}`
    const second = `counted-001-${store}`
    await burst(() => limiter.tryAcquire("user"), 150)
    await burst(() => rig.run("000-fixed-window", clock, [first], 100, 60), 150)
    await burst(() => rig.run("001-counter", clock, [second], 100, 60), 150)
    expect(await rig.client.mget(first, second)).toEqual(["150", "150"])
    // raised to 120 within the same minute, the limit has room for 20 more here, and for none there
    const raised = fixedWindow({ limit: 120, window: "60s" })
    expect(await rig.run("000-fixed-window", clock, [first], 120, 60)).toBe(0)
    expect(await rig.run("001-counter", clock, [second], 120, 60)).toBe(-1)
    expect((await limiter.peek("user", { policy: raised })).remaining).toBe(20)
  })

  test("a caller that keeps retrying passes again where the sliding window of 004 counts every denial", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, slidingLog({ limit: 2, window: "10s" }), clock)
    let member = 0
    const acquire = async () => {
      const now = clock()
      member += 1
      await rig.client.zremrangebyscore(`starved-${store}`, 0, now - 10_000)
      await rig.client.zadd(`starved-${store}`, now, `${now}_${member}`)
      return (await rig.client.zcount(`starved-${store}`, now - 10_000, now)) <= 2
    }
    expect(await onceASecond(clock, 60, acquire)).toEqual([0, 1])
    const ours = await onceASecond(clock, 60, async () => (await limiter.tryAcquire("user")).allowed)
    expect(ours).toEqual([0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51])
    expect(mostIn(10, ours)).toBe(2)
  })

  test("a denial comes at once where acquireSleep of 004 sleeps first", async () => {
    const clock = manualClock(Date.parse("2025-03-15T00:17:11+08:00"))
    const startedAt = clock()
    const limiter = rig.limiter(store, fixedWindow({ limit: 16, window: "10s", align: "clock" }), clock)
    const acquire = async () =>
      (await rig.client.incr(`slept-${store}_${Math.floor(clock() / 10_000)}`)) <= 16
    const acquireSleep = async (waitSecond: number) => {
      for (let count = 0; !(await acquire()); count += 1) {
        if (count >= waitSecond) return false
        clock.advance(1_000)
      }
      return true
    }
    expect(await burst(() => limiter.tryAcquire("user"), 16)).toBe(16)
    for (let i = 0; i < 16; i += 1) expect(await acquire()).toBe(true)

    expect(await limiter.tryAcquire("user")).toMatchObject({ allowed: false, retryAfter: 9_000 })
    expect(clock()).toBe(startedAt)
    expect(await acquireSleep(3)).toBe(false)
    expect(clock()).toBe(startedAt + 3_000)
  })

  test("a request needs no name where the sorted set of 003 loses one that is used twice", async () => {
    const clock = manualClock()
    const limiter = rig.limiter(store, slidingLog({ limit: 2, window: "1s" }), clock)
    const script = async () =>
      ((await rig.run("003-sliding-window", clock, [`named-${store}`], 1_000, 2, "same")) as number[])[0]
    expect(await burst(script, 10)).toBe(10)
    expect(await burst(() => limiter.tryAcquire("user"), 10)).toBe(2)
  })
})
