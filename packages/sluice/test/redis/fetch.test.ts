import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Redis } from "ioredis"
import { fixedWindow, type Store } from "sluice"
import { limitedFetch } from "sluice/fetch"
import { ioredis, redisStore } from "sluice/redis"
import { manualClock } from "sluice/testing"
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest"
import { type Clock, timersOf } from "../../src/clock.js"
import { holdsOn } from "../../src/fetch/holds.js"
import { memoryStore } from "../../src/stores/memory/memory-store.js"
import { command, type RedisServer, startRedis } from "../support/redis-server.js"
import { startUpstream } from "../support/upstream.js"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const program = fileURLToPath(new URL("../support/fetcher.ts", import.meta.url))

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})

afterAll(() => server.stop())

function redis(clock?: Clock): Store {
  const client = new Redis(server.port, server.host)
  onTestFinished(() => client.disconnect())
  return redisStore(ioredis(client), clock && { clock })
}

const stores: [string, (clock: Clock) => Store][] = [
  ["memory", (clock) => memoryStore({ clock })],
  ["Redis", redis],
]

describe.each(stores)("a hold on %s", (kind, storeBy) => {
  /** The hold that a process reads from the store if it knows of none, without its jitter. */
  const rigged = (name: string) => {
    vi.spyOn(Math, "random").mockReturnValue(0)
    onTestFinished(() => {
      vi.restoreAllMocks()
    })
    const clock = manualClock()
    const store = storeBy(clock)
    const holds = () => holdsOn(store, `${kind} ${name}`, timersOf(clock))
    const here = holds()
    return {
      clock,
      async hold(ms: number) {
        here.hold("key", ms)
        await here.settled()
      },
      seen: async () => Math.max((await holds().look("key")) - 1, 0),
    }
  }

  test("lasts for its full time", async () => {
    const { clock, hold, seen } = rigged("lasts")
    expect(await seen()).toBe(0)
    await hold(10_000)
    expect(await seen()).toBe(10_000)
    clock.advance(9_999)
    expect(await seen()).toBe(1)
    clock.advance(1)
    expect(await seen()).toBe(0)
  })

  test("is extended by a hold that ends later, whether that is longer or shorter", async () => {
    const { clock, hold, seen } = rigged("drawn out")
    await hold(10_000)
    await hold(20_000)
    expect(await seen()).toBe(20_000)
    clock.advance(15_000)
    await hold(10_000)
    expect(await seen()).toBe(10_000)
  })

  test("is not shortened by a hold that ends sooner", async () => {
    const { clock, hold, seen } = rigged("not cut short")
    await hold(10_000)
    clock.advance(1_000)
    await hold(3_000)
    expect(await seen()).toBe(9_000)
  })

  test("lasts as long as the longest of concurrent holds", async () => {
    const { hold, seen } = rigged("together")
    await Promise.all([3_000, 10_000, 10_000, 7_000].map(hold))
    expect(await seen()).toBe(10_000)
  })

  test("may last for ten years", async () => {
    const { clock, hold, seen } = rigged("ten years")
    await hold(Number.MAX_VALUE)
    expect(await seen()).toBe(3_653 * 86_400_000)
    clock.advance(3_653 * 86_400_000)
    expect(await seen()).toBe(0)
  })
})

test("a hold on the server's clock ends on time, neither sooner nor much later", async () => {
  const upstream = await startUpstream({ status: 429, headers: { "retry-after": 1 } }, {})
  onTestFinished(() => upstream.stop())
  const policy = fixedWindow({ limit: 100, window: "1m" })
  const [one, other] = [1, 2].map(() =>
    limitedFetch({ name: "clock", policy, store: redis() }, { retries: 0 }),
  )
  expect((await one?.(upstream.url))?.status).toBe(429)
  await one?.close()
  expect((await other?.(upstream.url))?.status).toBe(200)
  await other?.close()
  const [refused, sent] = upstream.requests.map(({ at }) => at)
  expect(Number(sent) - Number(refused)).toBeGreaterThanOrEqual(1_000)
  expect(Number(sent) - Number(refused)).toBeLessThan(2_500)
})

test("the Redis key of a hold expires with it, and differs from the keys of all policies", async () => {
  const holds = holdsOn(redis(), "expiry", timersOf(undefined))
  holds.hold("host:443", 30_000)
  await holds.settled()
  const keys = (await command(server.port, "KEYS", "*expiry*")) as string[]
  expect(keys).toEqual([expect.stringMatching(/^sluice:\{\d+\}expiry:host%3a443::tb$/)])
  const ttl = Number(await command(server.port, "PTTL", keys[0] as string))
  expect(ttl).toBeGreaterThan(29_000)
  expect(ttl).toBeLessThanOrEqual(31_000)
})

test("without Redis the fallback decides calls, and holds apply within the process", async () => {
  const own = await startRedis()
  const client = new Redis(own.port, own.host, { enableOfflineQueue: false, maxRetriesPerRequest: 0 })
  client.on("error", () => {})
  onTestFinished(async () => {
    client.disconnect()
    await own.stop()
  })
  const upstream = await startUpstream({}, {}, { status: 429, headers: { "retry-after": 1 } }, {})
  onTestFinished(() => upstream.stop())
  const policy = fixedWindow({ limit: 100, window: "1m" })
  const store = redisStore(ioredis(client), { retryFor: 0 })
  const outage = { deadline: 200, then: "open" } as const
  const fetch = limitedFetch({ policy, store, outage }, { retries: 0 })
  const strict = limitedFetch({ policy, store, outage: { deadline: 200 } })
  onTestFinished(async () => {
    await Promise.all([fetch.close(), strict.close()])
  })
  expect((await fetch(upstream.url)).status).toBe(200)
  process.kill(own.pid, "SIGSTOP")
  expect((await fetch(upstream.url)).status).toBe(200)
  await own.kill()
  expect((await fetch(upstream.url)).status).toBe(429)
  expect((await fetch(upstream.url)).status).toBe(200)
  const [refused, sent] = upstream.requests.slice(2).map(({ at }) => at)
  expect(Number(sent) - Number(refused)).toBeGreaterThanOrEqual(1_000)
  await expect(strict(upstream.url)).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) })
})

test("a store that fails between turn and call pauses no call", async () => {
  const upstream = await startUpstream({})
  onTestFinished(() => upstream.stop())
  const store = redis()
  const request: Store["decide"] = (question) =>
    question.mode === "peek" ? new Promise(() => {}) : store.decide(question)
  const policy = fixedWindow({ limit: 100, window: "1m" })
  const fetch = limitedFetch({
    name: "silent",
    policy,
    store: { ...store, decide: request },
    outage: { deadline: 50 },
  })
  expect((await fetch(upstream.url)).status).toBe(200)
  await fetch.close()
})

async function fetcher(): Promise<(url: string) => Promise<number>> {
  const child: ChildProcess = fork(program, [String(server.port)], {
    cwd: root,
    execArgv: ["--import", "tsx"],
  })
  onTestFinished(() => {
    child.kill("SIGKILL")
  })
  const heard = async () => (await once(child, "message"))[0]
  expect(await heard()).toBe("ready")
  return (url) => {
    child.send(url)
    return heard()
  }
}

test("a hold from one process pauses the other, and turns are even across both", async () => {
  const replies = [{}, {}, {}, {}, {}, { status: 429, headers: { "retry-after": 2 } }, {}]
  const upstream = await startUpstream(...replies)
  onTestFinished(() => upstream.stop())
  const [one, other] = await Promise.all([fetcher(), fetcher()])
  for (let i = 0; i < 5; i += 1) await (i % 2 === 0 ? one : other)(upstream.url)
  const first = upstream.requests.map(({ at }) => at)
  // Twenty per second, or one less if the first call was slow.
  expect(Number(first[4]) - Number(first[0])).toBeGreaterThan(150)
  expect(await one(upstream.url)).toBe(429)
  const calls = Promise.all([other(upstream.url), one(upstream.url)])
  expect(await calls).toEqual([200, 200])
  const [refused, ...later] = upstream.requests.slice(5).map(({ at }) => at)
  expect(later).toHaveLength(2)
  for (const at of later) expect(at - Number(refused)).toBeGreaterThanOrEqual(2_000)
})
