import { readFileSync } from "node:fs"
import fc from "fast-check"
import { Redis } from "ioredis"
import { createLimiter, fixedWindow, memoryStore } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import { mergeTopKeys, topKeys } from "sluice/telemetry"
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest"
import { files } from "../../src/stores/redis/scripts.generated.js"
import { SpaceSaving } from "../../src/telemetry/space-saving.js"
import { listOf } from "../../src/telemetry/top-list.js"
import { dice } from "../support/dice.js"
import { command, type RedisServer, startRedis, startReplica } from "../support/redis-server.js"
import { rightsFor } from "../support/rights.js"
import { startWorkers } from "../support/workers.js"

test("on Zipf traffic over a million keys the sketch finds the true top twenty within its error, in bounded memory", () => {
  const KEYS = 1_000_000
  const harmonic = new Float64Array(KEYS)
  for (let i = 0, sum = 0; i < KEYS; i += 1) {
    sum += 1 / (i + 1)
    harmonic[i] = sum
  }
  const roll = dice(7)
  const random = () => (roll(4_096) * 2 ** 11 + roll(2_048)) / 2 ** 23
  const pick = () => {
    const at = random() * (harmonic[KEYS - 1] as number)
    let low = 0
    let high = KEYS - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((harmonic[middle] as number) < at) low = middle + 1
      else high = middle
    }
    return low
  }
  const truth = new Uint32Array(KEYS)
  const sketch = new SpaceSaving(2_000)
  for (let i = 0; i < 1_000_000; i += 1) {
    const key = pick()
    truth[key] = (truth[key] as number) + 1
    sketch.add(`k${key}`)
  }
  expect(sketch.size).toBe(2_000)
  expect(sketch.errorBound).toBeLessThanOrEqual(500)
  const byTruth = Array.from(truth.keys()).sort((a, b) => (truth[b] as number) - (truth[a] as number))
  const top = sketch.top(20)
  for (const { key, count, error } of sketch.top(2_000)) {
    const real = truth[Number(key.slice(1))] as number
    expect(real).toBeLessThanOrEqual(count)
    expect(real).toBeGreaterThanOrEqual(count - error)
    expect(error).toBeLessThanOrEqual(sketch.errorBound)
  }
  const least = truth[byTruth[19] as number] as number
  for (const { key } of top) {
    expect(truth[Number(key.slice(1))]).toBeGreaterThanOrEqual(least - sketch.errorBound)
  }
  expect(new Set(top.map(({ key }) => key)).size).toBe(20)
  for (const key of byTruth.slice(0, 15)) expect(top.map((each) => each.key)).toContain(`k${key}`)
})

test("top keys counts requests and denials by limiter, masks keys, and merges processes", async () => {
  const top = topKeys({ mask: (key) => key.slice(0, 2) })
  onTestFinished(() => top.stop())
  const limiter = createLimiter({ name: "api", policy: fixedWindow({ limit: 2, window: "1m" }) })
  for (let i = 0; i < 5; i += 1) await limiter.tryAcquire("annabel")
  await limiter.tryAcquire("bob")
  const report = top.report()
  expect(report).toEqual([
    {
      limiter: "api",
      busiest: {
        keys: [
          { key: "an", count: 5, error: 0 },
          { key: "bo", count: 1, error: 0 },
        ],
        total: 6,
        errorBound: 0,
        unlisted: 0,
      },
      denied: { keys: [{ key: "an", count: 3, error: 0 }], total: 3, errorBound: 0, unlisted: 0 },
    },
  ])
  expect(mergeTopKeys([report, report], 1)[0]?.busiest).toEqual({
    keys: [{ key: "an", count: 10, error: 0 }],
    total: 12,
    errorBound: 0,
    unlisted: 2,
  })
})

test("a merged count is never below the true number, nor above it by more than its error, however short the reports are", () => {
  const traffic = fc.array(fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 60 }), { maxLength: 4 })
  fc.assert(
    fc.property(
      traffic,
      fc.integer({ min: 1, max: 8 }),
      fc.nat(6),
      fc.nat(6),
      (processes, capacity, each, most) => {
        const truth = new Map<string, number>()
        const reports = processes.map((keys) => {
          const sketch = new SpaceSaving(capacity)
          for (const key of keys) {
            sketch.add(`k${key}`)
            truth.set(`k${key}`, (truth.get(`k${key}`) ?? 0) + 1)
          }
          const list = listOf(sketch, each)
          return [{ limiter: "api", busiest: list, denied: list }]
        })
        const [merged] = mergeTopKeys(reports, most)
        if (merged === undefined) return
        const { keys, total, errorBound, unlisted } = merged.busiest
        expect(total).toBe(processes.flat().length)
        expect(keys.length).toBeLessThanOrEqual(most)
        for (const { key, count, error } of keys) {
          const real = truth.get(key) ?? 0
          expect(real).toBeLessThanOrEqual(count)
          expect(real).toBeGreaterThanOrEqual(count - error)
          expect(error).toBeLessThanOrEqual(errorBound)
        }
        const listed = new Set(keys.map(({ key }) => key))
        for (const [key, real] of truth) if (!listed.has(key)) expect(real).toBeLessThanOrEqual(unlisted)
      },
    ),
    { numRuns: 2_000 },
  )
})

test("a key is cut to 256 characters after the mask, too", async () => {
  const top = topKeys({ mask: (key) => key.repeat(100) })
  onTestFinished(() => top.stop())
  const limiter = createLimiter({ name: "long", policy: fixedWindow({ limit: 2, window: "1m" }) })
  await limiter.tryAcquire("0123456789")
  expect(top.report()[0]?.busiest.keys[0]?.key).toHaveLength(257)
})

test.each([
  [{ capacity: 0 }, "capacity must be an integer"],
  [{ mask: 5 }, "mask must be a function"],
  [{ every: "soon" }, "every must be"],
  [{ store: {} }, "store must be a Store"],
  [{ size: 5 }, 'topKeys has no field "size"'],
])("topKeys refuses %o", (options, message) => {
  expect(() => topKeys(options as never)).toThrow(message)
})

test("on a store that keeps no reports, merged has the keys of this process", async () => {
  const store = memoryStore()
  const top = topKeys({ store })
  onTestFinished(() => top.stop())
  const limiter = createLimiter({ name: "alone", policy: fixedWindow({ limit: 2, window: "1m" }), store })
  await limiter.tryAcquire("k")
  expect(await top.merged()).toMatchObject({
    processes: 1,
    reports: [{ limiter: "alone", busiest: { keys: [{ key: "k", count: 1, error: 0 }], total: 1 } }],
  })
})

describe("on Redis", () => {
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
  const reportsKey = "sluice:{reports}now"
  const publishing = (every: number, run = ioredis(client)) => {
    const top = topKeys({ store: redisStore(run), every })
    onTestFinished(() => top.stop())
    return top
  }

  test("merged adds up the keys of four processes, and a killed process disappears from it", async () => {
    const workers = await startWorkers<Record<string, number>, string>(
      "top-keys-worker.ts",
      [String(server.port)],
      4,
    )
    onTestFinished(() => workers.kill())
    const top = publishing(200)
    await workers.work([{ ann: 40, bob: 1 }, { ann: 30, cid: 20 }, { bob: 25, cid: 2 }, { dan: 9 }])
    const merged = async () => {
      const { processes, reports } = await top.merged(3)
      return { processes, ...reports.find(({ limiter }) => limiter === "api") }
    }
    await expect
      .poll(merged, { timeout: 5_000 })
      .toMatchObject({ processes: 5, busiest: { total: 127 }, denied: { total: 127 - 10 - 10 - 10 - 9 } })
    const { busiest, denied } = await merged()
    expect(busiest).toEqual({
      keys: [
        { key: "ann", count: 70, error: 0 },
        { key: "bob", count: 26, error: 0 },
        { key: "cid", count: 22, error: 0 },
      ],
      total: 127,
      errorBound: 0,
      unlisted: 9,
    })
    // The limit of 10 holds for all processes together.
    expect(denied?.keys[0]).toEqual({ key: "ann", count: 60, error: 0 })
    workers.children[3]?.kill("SIGKILL")
    await expect.poll(merged, { timeout: 5_000 }).toMatchObject({ processes: 4, busiest: { total: 118 } })
    await workers.kill()
    await expect.poll(merged, { timeout: 5_000 }).toEqual({ processes: 1 })
  })

  test("all reports expire, and stop withdraws a report at once", async () => {
    await client.flushall()
    const one = publishing(300)
    const two = publishing(300)
    await expect.poll(async () => (await one.merged()).processes, { timeout: 5_000 }).toBe(2)
    const left = await client.pttl(reportsKey)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(900)
    two.stop()
    await expect.poll(async () => (await one.merged()).processes).toBe(1)
    expect(await client.hlen(reportsKey)).toBe(1)
    one.stop()
    await expect.poll(() => client.exists(reportsKey, "sluice:{reports}expiry")).toBe(0)
  })

  test("a report has at most 64 kB, and still bounds what it leaves out", async () => {
    await client.flushall()
    const full = publishing(100)
    const reader = publishing(60_000)
    const policy = fixedWindow({ limit: 1, window: "1m" })
    for (let i = 0; i < 20; i += 1) {
      const limiter = createLimiter({ name: `many ${i}`, policy })
      for (let j = 0; j < 250; j += 1) await limiter.tryAcquire(`${j} ${"x".repeat(250)}`)
    }
    await expect.poll(() => client.hlen(reportsKey), { timeout: 5_000 }).toBe(1)
    await expect.poll(async () => (await client.hvals(reportsKey))[0]?.length ?? 0).toBeGreaterThan(10_000)
    expect((await client.hvals(reportsKey))[0]?.length).toBeLessThanOrEqual(65_536)
    full.stop()
    const busiest = (await reader.merged()).reports[0]?.busiest
    expect(busiest?.unlisted).toBeGreaterThan(0)
  })

  test("at most 256 processes have a report, a further one is told, and a foreign report is ignored", async () => {
    await client.flushall()
    const board = redisStore(ioredis(client)).reports
    const publish = (i: number) => board?.publish(`process ${i}`, "[]", 60_000)
    for (let i = 0; i < 256; i += 1) expect(await publish(i)).toBe(true)
    expect(await publish(256)).toBe(false)
    expect(await publish(255)).toBe(true)
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
    const top = publishing(50)
    await expect.poll(() => warned.mock.calls.length).toBe(1)
    expect(warned.mock.calls[0]?.[0]).toContain("too many processes")
    warned.mockRestore()
    await board?.publish("process 0", "", 0)
    for (const [i, text] of [
      "nonsense",
      "{}",
      '[{"limiter":5}]',
      '[{"limiter":"a","busiest":{}}]',
    ].entries()) {
      await board?.publish(`process ${i + 1}`, text, 60_000)
    }
    await expect.poll(async () => (await top.merged()).processes).toBe(1 + 251)
  })

  test("a report of a process that ended without notice is removed by the next publication", async () => {
    await client.flushall()
    const board = redisStore(ioredis(client)).reports
    await board?.publish("gone", "[]", 20)
    await board?.publish("stays", "[]", 60_000)
    await new Promise((resolve) => setTimeout(resolve, 40))
    expect([...((await board?.read()) ?? [])]).toEqual([["stays", "[]"]])
    expect(await client.hlen(reportsKey)).toBe(2)
    await board?.publish("stays", "[]", 60_000)
    expect(await client.hkeys(reportsKey)).toEqual(["stays"])
    expect(await client.zcard("sluice:{reports}expiry")).toBe(1)
  })

  test("merged rejects while the store is down, and publishing goes on afterwards", async () => {
    await client.flushall()
    let isDown = true
    const direct = ioredis(client)
    const flaky = {
      ...direct,
      run: (...call: Parameters<typeof direct.run>) =>
        isDown ? Promise.reject(new Error("ECONNREFUSED")) : direct.run(...call),
    }
    const top = publishing(30, flaky)
    await expect(top.merged()).rejects.toMatchObject({ code: "STORE_UNKNOWN" })
    await new Promise((resolve) => setTimeout(resolve, 100))
    isDown = false
    await expect.poll(() => client.hlen(reportsKey)).toBe(1)
  })

  test("merged reads from a replica, and from a server whose memory is full", async () => {
    await client.flushall()
    const board = redisStore(ioredis(client)).reports
    await board?.publish("process", "[]", 60_000)
    const replica = await startReplica(server)
    const reader = new Redis(replica.port, replica.host)
    onTestFinished(async () => {
      reader.disconnect()
      await replica.stop()
      await command(server.port, "CONFIG", "SET", "maxmemory", 0)
    })
    expect((await publishing(60_000, ioredis(reader)).merged()).processes).toBe(2)
    await command(server.port, "CONFIG", "SET", "maxmemory", 1)
    expect((await publishing(60_000).merged()).processes).toBe(2)
  })
})

test("docs/top-keys.md names every right that the script of the reports needs", () => {
  const page = readFileSync(new URL("../../../../docs/top-keys.md", import.meta.url), "utf8")
  const listed = /^\+eval \+evalsha (.*)$/m.exec(page)?.[1]?.split(" ").sort()
  expect(listed).toEqual(rightsFor(files["reports"] as string))
})
