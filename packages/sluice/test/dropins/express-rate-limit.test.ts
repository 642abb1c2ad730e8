import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import express from "express"
import { type Options, type Store as PeerStore, rateLimit } from "express-rate-limit"
import { Hono } from "hono"
import { type Store as HonoStore, rateLimiter } from "hono-rate-limiter"
import { fixedWindow, memoryStore, type Store, slidingWindow, tokenBucket } from "sluice"
import { type SluiceStoreOptions, sluiceStore } from "sluice/express-rate-limit"
import { expect, onTestFinished, test, vi } from "vitest"
import { flood, listening, newPrefix, onEachStore, statuses } from "./stores.js"

/** An Express application behind the peer. The path is the status that it answers. */
async function serve(options: Partial<Options>, own: SluiceStoreOptions = {}) {
  const logger = { error: vi.fn(), warn: vi.fn(), info: vi.fn(), debug: vi.fn() }
  const store = sluiceStore({ prefix: newPrefix(), ...own })
  const limiter = rateLimit({
    windowMs: 60_000,
    standardHeaders: "draft-8",
    keyGenerator: (req) => req.get("x-key") ?? "anonymous",
    logger,
    ...options,
    store,
  })
  const app = express()
  app.use(limiter)
  app.use((error: Error, _req: unknown, res: express.Response, _next: unknown) => {
    res.status(503).send(error.message)
  })
  app.get("/:status", (req, res) => {
    res.status(Number(req.params.status)).send("done")
  })
  const server = await listening(createServer(app))
  onTestFinished(() => server.close())
  const call = (status = 200, key = "anonymous") =>
    fetch(`${server.url}/${status}`, { headers: { "x-key": key } })
  return { call, limiter, store, logger }
}

const used = async (limiter: ReturnType<typeof rateLimit>) =>
  (await limiter.getKey("anonymous"))?.totalHits ?? 0

onEachStore((store) => {
  test("the limit holds, and the peer's headers say so", async () => {
    const { call, logger } = await serve({ limit: 3 }, { store: store() })
    const first = await call()
    expect(first.headers.get("ratelimit")).toMatch(/^"3-in-1min"; r=2; t=(59|60)/)
    expect(await statuses(2, call)).toEqual([200, 200])
    const denied = await call()
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get("retry-after"))).toBeGreaterThanOrEqual(59)
    expect((await call(200, "somebody else")).status).toBe(200)
    expect(logger.error).not.toHaveBeenCalled()
    expect(logger.warn).not.toHaveBeenCalled()
  })

  test("of 1,000 parallel requests exactly the limit passes", async () => {
    const { call } = await serve({ limit: 100 }, { store: store() })
    expect(await flood(1_000, () => call())).toEqual({ 200: 100, 429: 900 })
  })

  test("a denied request is not counted", async () => {
    const { call, limiter } = await serve({ limit: 2 }, { store: store() })
    expect(await statuses(5, call)).toEqual([200, 200, 429, 429, 429])
    expect(await used(limiter)).toBe(2)
  })

  test("the window ends at the reset time that getKey reports", async () => {
    const { call, limiter } = await serve({ limit: 1, windowMs: 400 }, { store: store() })
    await call()
    const { resetTime } = (await limiter.getKey("anonymous")) as { resetTime: Date }
    expect((await call()).status).toBe(429)
    await sleep(resetTime.getTime() - Date.now() + 5)
    expect(await limiter.getKey("anonymous")).toBeUndefined()
    expect((await call()).status).toBe(200)
  })

  test("resetKey empties the count of one key", async () => {
    const { call, limiter } = await serve({ limit: 1 }, { store: store() })
    await call(200, "a")
    await call(200, "b")
    limiter.resetKey("a")
    await expect.poll(() => limiter.getKey("a")).toBeUndefined()
    expect([(await call(200, "a")).status, (await call(200, "b")).status]).toEqual([200, 429])
  })

  test("a limit that is a function of the request holds", async () => {
    const limit = (req: { get(name: string): string | undefined }) => (req.get("x-key") === "gold" ? 3 : 1)
    const { call } = await serve({ limit: limit as Options["limit"] }, { store: store() })
    expect(await statuses(4, () => call(200, "gold"))).toEqual([200, 200, 200, 429])
    expect(await statuses(2, () => call(200, "tin"))).toEqual([200, 429])
  })

  test("a limit of 0 denies every request", async () => {
    const { call } = await serve({ limit: 0, validate: false }, { store: store() })
    expect(await statuses(2, call)).toEqual([429, 429])
  })

  test("skipFailedRequests gives failed requests back, and denials hand out nothing", async () => {
    const { call, limiter } = await serve({ limit: 2, skipFailedRequests: true }, { store: store() })
    expect(await statuses(5, () => call(404))).toEqual([404, 404, 404, 404, 404])
    await expect.poll(() => used(limiter)).toBe(0)
    expect(await statuses(2, call)).toEqual([200, 200])
    for (let i = 0; i < 5; i += 1) {
      expect((await call()).status).toBe(429)
      await expect.poll(() => used(limiter)).toBe(2)
    }
  })

  test("skipSuccessfulRequests counts only failures", async () => {
    const { call, limiter } = await serve({ limit: 2, skipSuccessfulRequests: true }, { store: store() })
    for (let i = 0; i < 4; i += 1) {
      expect((await call(200)).status).toBe(200)
      await expect.poll(() => used(limiter)).toBe(0)
    }
    expect(await statuses(3, () => call(401))).toEqual([401, 401, 429])
  })

  test("skipSuccessfulRequests: denials that a handler answers with 200 hand out nothing", async () => {
    const handler: Options["handler"] = (_, res) => {
      res.status(200).send("slow down")
    }
    const { call, limiter } = await serve(
      { limit: 2, skipSuccessfulRequests: true, handler },
      { store: store() },
    )
    expect(await statuses(2, () => call(401))).toEqual([401, 401])
    for (let i = 0; i < 3; i += 1) {
      expect(await (await call(401)).text()).toBe("slow down")
      await expect.poll(() => used(limiter)).toBe(2)
    }
  })

  test("a policy with skipSuccessfulRequests: denials that a handler answers with 200 hand out nothing", async () => {
    const handler: Options["handler"] = (_, res) => {
      res.status(200).send("slow down")
    }
    const own = { store: store(), policy: fixedWindow({ limit: 2, window: "1m" }) }
    const { call, limiter } = await serve({ limit: 2, skipSuccessfulRequests: true, handler }, own)
    expect(await statuses(2, () => call(401))).toEqual([401, 401])
    for (let i = 0; i < 5; i += 1) {
      expect(await (await call(401)).text()).toBe("slow down")
      await sleep(20)
      expect(await used(limiter)).toBe(2)
    }
  })

  test("of 100 parallel failed logins only the limit reaches the handler", async () => {
    const { call } = await serve({ limit: 5, skipSuccessfulRequests: true }, { store: store() })
    expect(await flood(100, () => call(401))).toEqual({ 401: 5, 429: 95 })
  })

  test("a give-back of an earlier window frees nothing in the next", async () => {
    const peer = sluiceStore({ store: store(), prefix: newPrefix() })
    peer.init({ windowMs: 300, limit: 2, skipFailedRequests: true })
    await peer.increment("k")
    await sleep(310)
    await peer.increment("k")
    await peer.decrement("k")
    await peer.decrement("k")
    expect(await peer.get("k")).toBeUndefined()
    expect((await peer.increment("k")).totalHits).toBe(1)
    await peer.decrement("unknown")
    expect((await peer.increment("k")).totalHits).toBe(2)
  })

  test("a function as the policy gets the peer's limit and window", async () => {
    const policy = vi.fn(slidingWindow)
    const { call } = await serve({ limit: 2 }, { store: store(), policy })
    expect(await statuses(3, call)).toEqual([200, 200, 429])
    expect(policy).toHaveBeenCalledWith({ limit: 2, window: 60_000 })
  })

  test("a policy decides in place of the peer's limit", async () => {
    const policy = tokenBucket({ capacity: 3, refill: 1, every: "1h" })
    const { call } = await serve({ limit: 100 }, { store: store(), policy })
    const first = await call()
    expect(first.headers.get("ratelimit")).toMatch(/r=2;/)
    expect(await statuses(3, call)).toEqual([200, 200, 429])
  })

  test("a policy with skipFailedRequests: denials hand out nothing, failures are given back", async () => {
    const own = { store: store(), policy: fixedWindow({ limit: 2, window: "1m" }) }
    const { call, limiter } = await serve({ limit: 2, skipFailedRequests: true }, own)
    expect(await statuses(2, call)).toEqual([200, 200])
    expect(await statuses(5, call)).toEqual([429, 429, 429, 429, 429])
    expect(await used(limiter)).toBe(2)
    limiter.resetKey("anonymous")
    await expect.poll(() => used(limiter)).toBe(0)
    expect((await call(404)).status).toBe(404)
    await expect.poll(() => used(limiter)).toBe(0)
  })

  test("hono-rate-limiter takes the same store", async () => {
    const app = new Hono()
    const peer = sluiceStore({ store: store(), prefix: newPrefix() })
    app.use(rateLimiter({ windowMs: 60_000, limit: 3, keyGenerator: () => "k", store: peer as HonoStore }))
    app.get("/", (c) => c.text("done"))
    const send = async () => app.request("/")
    expect(await flood(100, send)).toEqual({ 200: 3, 429: 97 })
    expect((await send()).headers.get("ratelimit-remaining")).toBe("0")
  })
})

test("the store has the type of the peer's", () => {
  const typed: PeerStore = sluiceStore()
  expect(typed.localKeys).toBe(true)
})

test("limiters with different limits on one store do not share counters", async () => {
  const store = memoryStore()
  const [three, nine] = [sluiceStore({ store }), sluiceStore({ store })]
  three.init({ windowMs: 1_000, limit: 3 })
  nine.init({ windowMs: 1_000, limit: 9 })
  await three.increment("k")
  expect((await nine.increment("k")).totalHits).toBe(1)
  expect([three.prefix, nine.prefix, three.localKeys]).toEqual([
    "express-rate-limit:3-in-1000",
    "express-rate-limit:9-in-1000",
    false,
  ])
})

test("a policy with a limit that is a function is refused, and every request says so", async () => {
  const { call, logger } = await serve({ limit: () => 5 }, { policy: slidingWindow })
  expect(logger.error).toHaveBeenCalled()
  const response = await call()
  expect([response.status, await response.text()]).toEqual([
    503,
    expect.stringMatching(/limit must be a number/),
  ])
})

test("a store that fails is the peer's store error", async () => {
  const broken = { ...memoryStore(), decide: () => Promise.reject(new Error("gone")) } as Store
  const strictly = await serve({ limit: 1 }, { store: broken })
  expect((await strictly.call()).status).toBe(503)
  const leniently = await serve({ limit: 1, passOnStoreError: true }, { store: broken })
  expect((await leniently.call()).status).toBe(200)
})

test("a store that was shut down, or was given to no limiter, does not count", async () => {
  const { call, store } = await serve({ limit: 1 })
  await store.shutdown()
  expect((await call()).status).toBe(503)
  await expect(sluiceStore().increment("k")).rejects.toThrow(/as its store/)
  await sluiceStore().shutdown()
  expect(sluiceStore().prefix).toBe("express-rate-limit")
})

test("wrong options are refused", () => {
  expect(() => sluiceStore({ prefix: "" })).toThrow(/prefix must be/)
  expect(() => sluiceStore({ windowMs: 1 } as SluiceStoreOptions)).toThrow(/no field "windowMs"/)
})
