import { Redis } from "ioredis"
import {
  createLimiter,
  fixedWindow,
  type Limiter,
  memoryStore,
  type OutagePolicy,
  type Policies,
  type Policy,
  type Store,
  tokenBucket,
} from "sluice"
import type { RateLimitOptions } from "sluice/http"
import { ioredis, redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest"
import { strict } from "../support/clients.js"
import { type RedisServer, startRedis } from "../support/redis-server.js"
import type { Adapter, Handle, Reply } from "./adapter.js"

type Options = RateLimitOptions<object>

/** Tests send the key in a header, so that they do not depend on addresses. */
const key: Options["key"] = (_, http) => http.header("x-key") ?? "anonymous"
const perMinute = (limit: number) => fixedWindow({ limit, window: "1m" })
const ok: Reply = { status: 200, body: "done" }
/** A loaded machine may take a while to settle a request after its response. */
const patiently = { timeout: 5_000, interval: 20 }
let names = 0

/** Everything that a framework's middleware has to do, over real HTTP, on memory and on Redis. */
export function middlewareSuite(adapter: Adapter): void {
  describe(`${adapter.name} on memory`, () => {
    const store = memoryStore()
    behaviour(adapter, () => store)
    addresses(adapter)
  })

  describe(`${adapter.name} on Redis`, () => {
    let server: RedisServer
    let client: Redis
    beforeAll(async () => {
      server = await startRedis()
      client = await connect(server.port)
    })
    afterAll(async () => {
      client.disconnect()
      await server.stop()
    })
    behaviour(adapter, () => redisStore(ioredis(client)))
    outages(adapter)
  })
}

async function connect(port: number): Promise<Redis> {
  const client = new Redis({ ...strict, host: "127.0.0.1", port, lazyConnect: true })
  client.on("error", () => {})
  await client.connect()
  return client
}

/** Starts the framework for one test and returns a function that calls it. */
async function serve(adapter: Adapter, limits: readonly Options[], handle: Handle = async () => ok) {
  const handled = vi.fn(handle)
  const server = await adapter.start(
    limits.map((options) => ({ key, ...options })),
    handled,
  )
  onTestFinished(() => server.close())
  const call = (path = "/", init: RequestInit = {}) => fetch(server.url + path, init)
  const statuses = async (...paths: string[]) => {
    const all: number[] = []
    for (const path of paths) {
      const response = await call(path)
      await response.arrayBuffer().catch(() => {})
      all.push(response.status)
    }
    return all
  }
  return { url: server.url, call, statuses, handled }
}

function behaviour(adapter: Adapter, store: () => Store): void {
  const stacked = test.skipIf(adapter.stacks === false)

  /** Options with a name of their own, and a limiter to look at the state with. */
  const limited = <P extends Policy | Record<string, Policy>>(policy: P, options: Options = {}) => {
    names += 1
    const { limiter, endings } = watchedLimiter({ name: `limit-${names}`, policy, store: store() })
    onTestFinished(() => limiter.close())
    const used = async () => {
      const { limit, remaining } = await limiter.peek("anonymous")
      return limit - remaining
    }
    return { options: { limiter, ...options }, limiter, endings, used, name: limiter.name }
  }

  test("a request within the limit reaches the handler, and its response says what is left", async () => {
    const { options, name } = limited(perMinute(3))
    const { call, handled } = await serve(adapter, [options])
    const response = await call("/some/path")
    expect(response.status).toBe(200)
    expect(await response.text()).toBe("done")
    expect(response.headers.get("ratelimit-policy")).toBe(`"${name}";q=3;w=60`)
    expect(response.headers.get("ratelimit")).toMatch(new RegExp(`^"${name}";r=2;t=(59|60)$`))
    expect(response.headers.has("retry-after")).toBe(false)
    expect(handled).toHaveBeenCalledWith(
      "/some/path",
      expect.objectContaining({ allowed: true, remaining: 2 }),
    )
  })

  test("a request over the limit is answered with 429 and a problem, and the handler does not run", async () => {
    const { options, name, used } = limited(perMinute(1))
    const { call, statuses, handled } = await serve(adapter, [options])
    await statuses("/")
    const response = await call()
    expect(response.status).toBe(429)
    expect(response.headers.get("content-type")).toBe("application/problem+json")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(response.headers.get("retry-after")).toMatch(/^(59|60)$/)
    expect(response.headers.get("ratelimit")).toMatch(new RegExp(`^"${name}";r=0;t=(59|60)$`))
    expect(await response.json()).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota Exceeded",
      status: 429,
      "violated-policies": [name],
    })
    expect(handled).toHaveBeenCalledTimes(1)
    expect(await used()).toBe(1)
  })

  test("each key has its own limit", async () => {
    const { options } = limited(perMinute(1))
    const { call } = await serve(adapter, [options])
    const as = async (name: string) => (await call("/", { headers: { "x-key": name } })).status
    expect([await as("ann"), await as("bob"), await as("ann")]).toEqual([200, 200, 429])
  })

  test("of 100 parallel requests exactly the limit passes", async () => {
    const { options } = limited(perMinute(10))
    const { call } = await serve(adapter, [options])
    const responses = await Promise.all(Array.from({ length: 100 }, () => call()))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(90)
  })

  test("several policies are listed, and a denial by one charges none", async () => {
    const policy = { burst: perMinute(1), daily: fixedWindow({ limit: 9, window: "1d" }) }
    const { options } = limited(policy)
    const { call } = await serve(adapter, [options])
    const first = await call()
    expect(first.headers.get("ratelimit-policy")).toBe('"burst";q=1;w=60, "daily";q=9;w=86400')
    expect(first.headers.get("ratelimit")).toMatch(/^"burst";r=0;t=\d+, "daily";r=8;t=\d+$/)
    const second = await call()
    expect(second.headers.get("ratelimit")).toMatch(/"daily";r=8;t=\d+$/)
    expect(await second.json()).toMatchObject({ "violated-policies": ["burst"] })
  })

  stacked("two limiters on one request are both charged and both listed", async () => {
    const [all, login] = [limited(perMinute(5)), limited(perMinute(1))]
    const { call } = await serve(adapter, [all.options, login.options])
    const first = await call()
    expect(first.headers.get("ratelimit-policy")).toBe(`"${all.name}";q=5;w=60, "${login.name}";q=1;w=60`)
    const second = await call()
    expect(second.status).toBe(429)
    expect(await second.json()).toMatchObject({ "violated-policies": [login.name] })
    expect([await all.used(), await login.used()]).toEqual([2, 1])
  })

  test("a cost may depend on the request, and a cost of 0 is free", async () => {
    const { options, used } = limited(perMinute(10), { cost: (_, http) => Number(http.header("x-cost")) })
    const { call } = await serve(adapter, [options])
    const costing = async (cost: number) => (await call("/", { headers: { "x-cost": String(cost) } })).status
    expect([await costing(7), await costing(0), await costing(4), await costing(3)]).toEqual([
      200, 200, 429, 200,
    ])
    expect(await used()).toBe(10)
  })

  test("a request that is skipped is not counted, and carries no headers", async () => {
    const { options, used } = limited(perMinute(1), { skip: (_, http) => http.header("x-skip") === "yes" })
    const { call } = await serve(adapter, [options])
    for (let i = 0; i < 3; i += 1) {
      const response = await call("/", { headers: { "x-skip": "yes" } })
      expect([response.status, response.headers.get("ratelimit")]).toEqual([200, null])
    }
    expect(await used()).toBe(0)
  })

  test("onDenied replaces the response", async () => {
    const onDenied = () => ({ status: 503, headers: { "x-own": "1" }, body: { error: "slow down" } })
    const { options } = limited(perMinute(1), { onDenied })
    const { call, statuses } = await serve(adapter, [options])
    await statuses("/")
    const response = await call()
    expect([response.status, response.headers.get("x-own")]).toEqual([503, "1"])
    expect(response.headers.get("content-type")).toMatch(/^application\/json/)
    expect(response.headers.has("retry-after")).toBe(true)
    expect(await response.json()).toEqual({ error: "slow down" })
  })

  test("a HEAD request counts, has the headers of a GET, and its denial has no body", async () => {
    const { options, name } = limited(perMinute(2))
    const { call } = await serve(adapter, [options])
    const first = await call("/", { method: "HEAD" })
    expect(first.status).toBe(200)
    expect(first.headers.get("ratelimit-policy")).toBe(`"${name}";q=2;w=60`)
    await call()
    const denied = await call("/", { method: "HEAD" })
    expect([denied.status, await denied.text()]).toEqual([429, ""])
    expect(denied.headers.has("retry-after")).toBe(true)
  })

  test("a POST request counts, and its handler still runs", async () => {
    const { options } = limited(perMinute(1))
    const { call } = await serve(adapter, [options])
    const post = async () => (await call("/", { method: "POST", body: "hello" })).status
    expect([await post(), await post()]).toEqual([200, 429])
  })

  test("a 304 carries the headers and counts as a success", async () => {
    const { options, used, name } = limited(perMinute(5), { count: "failures" })
    const { call } = await serve(adapter, [options], async () => ({ status: 304, headers: { etag: '"1"' } }))
    const response = await call()
    expect([response.status, await response.text()]).toEqual([304, ""])
    expect(response.headers.get("ratelimit-policy")).toBe(`"${name}";q=5;w=60`)
    await expect.poll(used, patiently).toBe(0)
  })

  test("an error in the handler is the framework's 500, and the request counts", async () => {
    const { options, used, name } = limited(perMinute(5))
    const { call } = await serve(adapter, [options], async (path) => {
      if (path === "/broken") throw new Error("broken")
      return ok
    })
    const response = await call("/broken")
    expect(response.status).toBe(500)
    const headers = adapter.headersOnError ? `"${name}";q=5;w=60` : null
    expect(response.headers.get("ratelimit-policy")).toBe(headers)
    expect((await call("/")).status).toBe(200)
    expect(await used()).toBe(2)
  })

  test("an error in a function of the application is the framework's 500", async () => {
    const broken = () => {
      throw new Error("broken")
    }
    const { options } = limited(perMinute(5))
    const { statuses, handled } = await serve(adapter, [{ ...options, key: broken }])
    expect(await statuses("/")).toEqual([500])
    expect(handled).not.toHaveBeenCalled()
  })

  describe("counting", () => {
    const byPath: Handle = async (path) => {
      if (path === "/error") throw new Error("broken")
      return { status: Number(path.slice(1)), body: path === "/204" ? undefined : "done" } as Reply
    }

    test.each([
      ["failures", 3],
      ["successes", 2],
    ] as const)("only %s are counted", async (count, expected) => {
      const { options, used } = limited(perMinute(9), { count })
      const { statuses } = await serve(adapter, [options], byPath)
      expect(await statuses("/200", "/404", "/204", "/500", "/error")).toEqual([200, 404, 204, 500, 500])
      await expect.poll(used, patiently).toBe(expected)
    })

    test("failures are limited, and successes in between are not", async () => {
      const { options, used, endings } = limited(perMinute(2), { count: "failures" })
      const { statuses } = await serve(adapter, [options], byPath)
      for (const expected of [0, 0, 0]) {
        expect(await statuses("/200")).toEqual([200])
        await expect.poll(used, patiently).toBe(expected)
      }
      expect(await statuses("/401", "/401", "/401", "/200")).toEqual([401, 401, 429, 429])
      await expect.poll(() => endings.length, patiently).toBe(5)
      expect(endings).toEqual(["cancelled", "cancelled", "cancelled", "settled", "settled"])
      expect(await used()).toBe(2)
    })

    stacked.each(["failures", "successes"] as const)(
      "counting %s: a denial by a second limiter on the request does not count",
      async (count) => {
        const [outer, inner] = [limited(perMinute(9), { count }), limited(perMinute(1))]
        const { statuses } = await serve(adapter, [outer.options, inner.options], byPath)
        expect(await statuses("/200", "/200", "/401")).toEqual([200, 429, 429])
        await expect.poll(() => outer.endings.length, patiently).toBe(3)
        expect(await outer.used()).toBe(count === "failures" ? 0 : 1)
      },
    )

    test("of 50 parallel failures only the limit reaches the handler", async () => {
      const { options } = limited(perMinute(5), { count: "failures" })
      const { call, handled } = await serve(adapter, [options], byPath)
      await Promise.all(Array.from({ length: 50 }, () => call("/401")))
      expect(handled).toHaveBeenCalledTimes(5)
    })

    test.each([
      ["failures", 1],
      ["successes", 0],
    ] as const)("%s: a response that the client aborts is a failure", async (count, expected) => {
      const { options, used, endings } = limited(perMinute(9), { count })
      const stream = gatedStream()
      onTestFinished(stream.open)
      const { call } = await serve(adapter, [options], async () => ({ status: 200, body: stream.chunks() }))
      const abort = new AbortController()
      const response = await call("/", { signal: abort.signal })
      await response.body?.getReader().read()
      expect([await used(), endings]).toEqual([1, []])
      abort.abort()
      await expect.poll(() => endings, patiently).toEqual([count === "failures" ? "settled" : "cancelled"])
      expect(await used()).toBe(expected)
    })

    test.each([
      ["failures", 0],
      ["successes", 1],
    ] as const)("%s: a response that streams to its end is a success", async (count, expected) => {
      const { options, used } = limited(perMinute(9), { count })
      const stream = gatedStream()
      const { call } = await serve(adapter, [options], async () => ({ status: 200, body: stream.chunks() }))
      const response = await call()
      expect(await used()).toBe(1)
      stream.open()
      expect(await response.text()).toBe("first second")
      await expect.poll(used, patiently).toBe(expected)
    })
  })

  test("a streamed response arrives chunk by chunk, with the headers", async () => {
    const { options, name } = limited(perMinute(5))
    const stream = gatedStream()
    const { call } = await serve(adapter, [options], async () => ({ status: 200, body: stream.chunks() }))
    const response = await call()
    expect(response.headers.get("ratelimit-policy")).toBe(`"${name}";q=5;w=60`)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const first = await reader.read()
    expect(new TextDecoder().decode(first.value)).toBe("first ")
    stream.open()
    const second = await reader.read()
    expect(new TextDecoder().decode(second.value)).toBe("second")
    expect((await reader.read()).done).toBe(true)
  })

  describe("waiting", () => {
    const bucket = (ms: number) => tokenBucket({ capacity: 1, refill: 1, every: ms })

    test("a request waits for its turn instead of being denied", async () => {
      const { options } = limited(bucket(200), { wait: "5s" })
      const { call } = await serve(adapter, [options])
      const start = performance.now()
      const responses = await Promise.all([call(), call(), call()])
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
      expect(performance.now() - start).toBeGreaterThan(390)
    })

    test("a request whose turn is too far ahead is denied at once", async () => {
      const { options } = limited(bucket(60_000), { wait: "1s" })
      const { call } = await serve(adapter, [options])
      await call()
      const start = performance.now()
      expect((await call()).status).toBe(429)
      expect(performance.now() - start).toBeLessThan(900)
    })

    test("a client that disconnects while it waits is not charged, and its handler does not run", async () => {
      const { options, limiter } = limited(tokenBucket({ capacity: 2, refill: 1, every: "50s" }), {
        wait: "55s",
      })
      const retryAfter = async () => (await limiter.peek("anonymous")).retryAfter
      const { call, handled } = await serve(adapter, [options])
      await Promise.all([call(), call()])
      const abort = new AbortController()
      const gone = call("/", { signal: abort.signal })
      gone.catch(() => {})
      // Its turn is booked: the bucket owes a unit.
      await expect.poll(retryAfter, patiently).toBeGreaterThan(51_000)
      abort.abort()
      await expect(gone).rejects.toThrow()
      await expect.poll(retryAfter, patiently).toBeLessThan(50_001)
      expect(handled).toHaveBeenCalledTimes(2)
    })
  })
}

/** The key by default. It needs a real address, and the state must not be shared with other tests. */
function addresses(adapter: Adapter): void {
  test("by default the key is the address of the client", async () => {
    const policy = perMinute(1)
    const server = await adapter.start([{ policy }], async () => ok)
    onTestFinished(() => server.close())
    expect((await fetch(server.url)).status).toBe(200)
    expect((await fetch(server.url)).status).toBe(429)
    expect(await statusFrom("127.0.0.2", server.url)).toBe(200)
  })
}

/** Outages, on a server that is gone. Memory has none. */
function outages(adapter: Adapter): void {
  let client: Redis
  beforeAll(async () => {
    const server = await startRedis()
    client = await connect(server.port)
    await server.stop()
  })
  afterAll(() => client.disconnect())

  const down = (then: OutagePolicy, options: Options = {}): Options => {
    names += 1
    const store = redisStore(ioredis(client))
    return {
      policy: perMinute(2),
      store,
      name: `limit-${names}`,
      outage: { then, deadline: "50ms" },
      ...options,
    }
  }

  test("in an outage under `open` every request passes", async () => {
    const { statuses } = await serve(adapter, [down("open")])
    expect(await statuses("/", "/", "/", "/")).toEqual([200, 200, 200, 200])
  })

  test("in an outage under `open`, counting failures answers as usual", async () => {
    const { statuses } = await serve(adapter, [down("open", { count: "failures", onError: () => {} })])
    expect(await statuses("/", "/", "/")).toEqual([200, 200, 200])
  })

  test.each(["closed", "throw"] as const)(
    "in an outage under `%s` every request is answered with 503",
    async (then) => {
      const { call, handled } = await serve(adapter, [down(then)])
      for (let i = 0; i < 7; i += 1) {
        const response = await call()
        expect(response.status).toBe(503)
        expect(response.headers.get("content-type")).toBe("application/problem+json")
        expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
        expect(await response.json()).toMatchObject({
          type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
          status: 503,
        })
      }
      expect(handled).not.toHaveBeenCalled()
    },
  )

  test.skipIf(adapter.stacks === false)(
    "in an outage, the 503 of one limiter is no failure for another that counts failures",
    async () => {
      names += 1
      const { limiter, endings } = watchedLimiter({ name: `limit-${names}`, policy: perMinute(9) })
      onTestFinished(() => limiter.close())
      const { statuses } = await serve(adapter, [{ limiter, count: "failures" }, down("throw")])
      expect(await statuses("/", "/")).toEqual([503, 503])
      await expect.poll(() => endings, patiently).toEqual(["cancelled", "cancelled"])
    },
  )

  test("in an outage under `throw` onError receives the error", async () => {
    const onError = vi.fn()
    const { statuses } = await serve(adapter, [down("throw", { onError })])
    expect(await statuses("/")).toEqual([503])
    expect(onError).toHaveBeenCalledWith(
      expect.objectContaining({ code: expect.stringMatching(/^STORE_(REFUSED|UNKNOWN)$/) }),
      expect.anything(),
    )
  })

  test("in an outage under `local` this process grants its share", async () => {
    const { statuses } = await serve(adapter, [down({ local: 0.5 })])
    expect(await statuses("/", "/", "/")).toEqual([200, 503, 503])
  })
}

/** A limiter that notes how its reservations end. */
function watchedLimiter(options: Parameters<typeof createLimiter<Policies>>[0]) {
  const limiter = createLimiter<Policies>(options)
  const endings: ("settled" | "cancelled")[] = []
  const reserve: Limiter["reserve"] = async (...args) => {
    const reservation = await limiter.reserve(...args)
    return {
      ...reservation,
      async settle(cost) {
        const settled = await reservation.settle(cost)
        endings.push("settled")
        return settled
      },
      async cancel() {
        const cancelled = await reservation.cancel()
        endings.push("cancelled")
        return cancelled
      },
    }
  }
  return { limiter: { ...limiter, reserve } as Limiter, endings }
}

/** Two chunks, the second of which comes when the gate is opened. */
function gatedStream() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  async function* chunks() {
    yield "first "
    await opened
    yield "second"
  }
  return { chunks, open: () => open() }
}

/** The status of a request that leaves from another address of loopback. */
async function statusFrom(localAddress: string, url: string): Promise<number | undefined> {
  const { get } = await import("node:http")
  return new Promise((resolve, reject) => {
    get(url, { localAddress, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on("error", reject)
  })
}
