import { describe, expect, test, vi } from "vitest"
import { fetching } from "../../test/support/fetching.js"
import type { Reply } from "../../test/support/upstream.js"
import { until } from "../../test/support/watched-clock.js"
import { timersOf } from "../clock.js"
import { fixedWindow, leakyBucket } from "../policy.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { holdsOn, withJitter } from "./holds.js"

const rig = fetching()
const { upstream, limited } = rig

const holding = (seconds: number | string, status = 429): Reply => ({
  status,
  headers: { "retry-after": seconds },
})

/** The sleep in milliseconds of the call that waits. */
const slept = () => rig.clock.asked.at(-1)

describe("a response that asks callers to stay away", () => {
  const forms: [string, Reply][] = [
    ["429 and Retry-After", holding("30")],
    ["503 and Retry-After", holding("30", 503)],
    ["403 and Retry-After", holding("30", 403)],
    ["nothing remaining, as a list", { headers: { ratelimit: '"default";r=0;t=30' } }],
    ["nothing remaining, in one field", { headers: { ratelimit: "limit=9, remaining=0, reset=30" } }],
    ["nothing remaining, in two fields", { headers: { "ratelimit-remaining": 0, "ratelimit-reset": 30 } }],
    [
      "nothing remaining, in two X- fields",
      { headers: { "x-ratelimit-remaining": 0, "x-ratelimit-reset": 30 } },
    ],
  ]

  test.each(forms)("a response pauses its key: %s", async (_, reply) => {
    const server = await upstream(reply, {})
    const fetch = limited({ retries: 0 })
    await fetch(server.url)
    const second = fetch(server.url)
    await until(() => rig.clock.waiting === 1)
    expect(slept()).toSatisfy((ms: number) => ms >= 30_001 && ms <= 31_001)
    rig.clock.advance(30_000)
    expect(server.requests).toHaveLength(1)
    rig.clock.advance(1_001)
    expect((await second).status).toBe(200)
  })

  test("a hold pauses no other key and no other limiter", async () => {
    const [held, free] = await Promise.all([upstream(holding(30)), upstream({})])
    const store = memoryStore({ clock: rig.clock })
    const fetch = limited({ retries: 0 }, { store, name: "one" })
    await fetch(held.url)
    await fetch(free.url)
    const other = limited({ retries: 0 }, { store, name: "other" })
    expect((await other(held.url)).status).toBe(429)
  })

  test("a hold pauses the key in every fetch on the store, and calls take a new turn afterwards", async () => {
    const server = await upstream(holding(30), {})
    const store = memoryStore({ clock: rig.clock })
    const [one, other] = [limited({ retries: 0 }, { store }), limited({}, { store })]
    await one(server.url)
    const call = other(server.url)
    await until(() => rig.clock.waiting === 1)
    rig.clock.advance(31_001)
    await call
    expect(await other.limiter.peek(server.host)).toMatchObject({ remaining: 997 })
  })

  test("a hold lasts no longer than maxHold", async () => {
    const server = await upstream(holding("9".repeat(30)), {})
    const fetch = limited({ maxHold: "5s" })
    expect((await fetch(server.url)).status).toBe(429)
    const second = fetch(server.url)
    await until(() => rig.clock.waiting === 1)
    expect(slept()).toSatisfy((ms: number) => ms >= 5_001 && ms <= 5_501)
    rig.clock.advance(5_501)
    expect((await second).status).toBe(200)
  })

  test.each(["0", "Sun, 06 Nov 1994 08:49:37 GMT", "nonsense"])("with %s holds nobody back", async (text) => {
    const server = await upstream(holding(text), {})
    const fetch = limited({ retries: 0 })
    await fetch(server.url)
    expect((await fetch(server.url)).status).toBe(200)
  })

  test("calls that wait for their turn during a hold are sent evenly after it", async () => {
    const server = await upstream({}, holding(30), {})
    const store = memoryStore({ clock: rig.clock })
    const request = vi.spyOn(store, "decide")
    const looks = () => request.mock.calls.filter(([{ mode }]) => mode === "peek").length
    const policy = leakyBucket({ capacity: 99, leak: 1, every: "1s" })
    const fetch = limited({ retries: 0 }, { policy, store })
    const calls = Array.from({ length: 4 }, () => fetch(server.url))
    await until(() => server.requests.length === 1)
    rig.clock.advance(1_000)
    await calls[1]
    rig.clock.advance(29_999)
    await new Promise(setImmediate)
    expect(server.requests).toHaveLength(2)
    // A process that knows of the hold does not look it up.
    expect(looks()).toBe(2)
    rig.clock.advance(1_002)
    await until(() => server.requests.length === 3)
    rig.clock.advance(999)
    await new Promise(setImmediate)
    expect(server.requests).toHaveLength(3)
    rig.clock.advance(1)
    await Promise.all(calls)
  })
})

describe("a hold", () => {
  const rigged = () => {
    const store = memoryStore({ clock: rig.clock })
    const make = () => holdsOn(store, "name", timersOf(rig.clock))
    return { store, here: make(), there: make() }
  }

  test("an expired hold is forgotten in the process and in the store", async () => {
    const { store, here } = rigged()
    here.hold("key", 1_000)
    expect(store.size).toBe(1)
    rig.clock.advance(1_102)
    expect(here.known("key")).toBe(0)
    expect(await here.look("key")).toBe(0)
  })

  test("a hold is known at once in its own process, and after a look in others", async () => {
    const { here, there } = rigged()
    here.hold("key", 1_000)
    expect(here.known("key")).toBeGreaterThan(1_000)
    expect(there.known("key")).toBe(0)
    expect(await there.look("key")).toBeGreaterThan(1_000)
    expect(there.known("key")).toBeGreaterThan(1_000)
  })

  test("a hold evicted from the 10,000 known ones is read from the store", async () => {
    const { here } = rigged()
    for (let i = 0; i <= 10_000; i += 1) here.hold(`key ${i}`, 1_000)
    expect(here.known("key 0")).toBe(0)
    expect(here.known("key 1")).toBeGreaterThan(1_000)
    expect(await here.look("key 0")).toBeGreaterThan(1_000)
  })

  test("a hold does not count against any policy of the limiter", async () => {
    const { store, here } = rigged()
    here.hold("key", 1_000)
    const fetch = limited({}, { store, name: "name", policy: fixedWindow({ limit: 3, window: 9 }) })
    expect(await fetch.limiter.peek("key")).toMatchObject({ remaining: 3 })
  })

  test("a hold that could not be written to the store causes no error", async () => {
    const store = { ...memoryStore({ clock: rig.clock }), decide: () => Promise.reject(new Error("down")) }
    const holds = holdsOn(store, "name", timersOf(rig.clock))
    holds.hold("key", 1_000)
    await holds.settled()
    expect(holds.known("key")).toBeGreaterThan(1_000)
    await expect(holds.look("other")).rejects.toThrow("down")
  })

  test("the jitter of a hold is at most a tenth of it, and at most one second", () => {
    for (const [ms, least, most] of [
      [100, 101, 111],
      [60_000, 60_001, 61_001],
    ] as const) {
      const random = vi.spyOn(Math, "random").mockReturnValue(0)
      expect(withJitter(ms)).toBe(least)
      random.mockReturnValue(1)
      expect(withJitter(ms)).toBe(most)
      random.mockRestore()
    }
  })
})

test("at most maxWaiters calls wait for a hold", async () => {
  const server = await upstream(holding(30), {})
  const fetch = limited({ retries: 0 }, { maxWaiters: 4 })
  await fetch(server.url)
  const calls = [fetch(server.url), fetch(server.url)]
  await until(() => rig.clock.waiting === 2)
  await expect(fetch(server.url)).rejects.toMatchObject({ code: "QUEUE_FULL" })
  rig.clock.advance(31_001)
  await Promise.all(calls)
})

test("without room in the queue a call is not retried, and its response is returned", async () => {
  const [held, other] = await Promise.all([upstream(holding(30), {}), upstream(holding(1))])
  const fetch = limited({}, { maxWaiters: 1 })
  const call = fetch(held.url)
  await until(() => rig.clock.waiting === 1)
  expect((await fetch(other.url)).status).toBe(429)
  rig.clock.advance(60_000)
  expect((await call).status).toBe(200)
})

test("a signal has one listener, however many calls wait with it", async () => {
  const server = await upstream(holding(30), {})
  const fetch = limited({ retries: 0 })
  await fetch(server.url)
  const { signal } = new AbortController()
  const listen = vi.spyOn(signal, "addEventListener")
  const calls = Array.from({ length: 20 }, () => fetch(server.url, { signal }))
  await until(() => rig.clock.waiting === 20)
  expect(listen).toHaveBeenCalledTimes(1)
  rig.clock.advance(31_001)
  await Promise.all(calls)
})
