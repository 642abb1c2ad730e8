import { setTimeout as sleep } from "node:timers/promises"
import rateLimit, { type RateLimitPluginOptions } from "@fastify/rate-limit"
import fastify, { type FastifyInstance } from "fastify"
import { memoryStore, type Store, slidingWindow, tokenBucket } from "sluice"
import { type SluiceStoreOptions, sluiceStore } from "sluice/fastify-rate-limit"
import { expect, onTestFinished, test, vi } from "vitest"
import { flood, newPrefix, onEachStore, statuses } from "./stores.js"

/** A Fastify application behind the peer, with one route `/` and those that `routes` adds. */
async function serve(
  options: RateLimitPluginOptions,
  own: SluiceStoreOptions = {},
  routes: (app: FastifyInstance) => void = () => {},
) {
  const app = fastify()
  onTestFinished(() => app.close())
  await app.register(rateLimit, {
    timeWindow: 60_000,
    keyGenerator: (request) => String(request.headers["x-key"] ?? "anonymous"),
    ...options,
    store: sluiceStore({ prefix: newPrefix(), ...own }),
  })
  app.get("/", async () => "done")
  routes(app)
  const call = async (url = "/", key = "anonymous") => {
    const { statusCode, headers } = await app.inject({ url, headers: { "x-key": key } })
    return { status: statusCode, headers }
  }
  return { app, call }
}

onEachStore((store) => {
  test("the limit holds, and the peer's headers say so", async () => {
    const { call } = await serve({ max: 2 }, { store: store() })
    const first = await call()
    expect(first.headers).toMatchObject({ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1" })
    expect(Number(first.headers["x-ratelimit-reset"])).toBeGreaterThanOrEqual(59)
    await call()
    const denied = await call()
    expect(denied).toMatchObject({ status: 429, headers: { "x-ratelimit-remaining": "0" } })
    expect(Number(denied.headers["retry-after"])).toBeGreaterThanOrEqual(59)
    expect((await call("/", "somebody else")).status).toBe(200)
  })

  test("of 1,000 parallel requests exactly the limit passes", async () => {
    const { call } = await serve({ max: 100 }, { store: store() })
    expect(await flood(1_000, () => call())).toEqual({ 200: 100, 429: 900 })
  })

  test("the count is empty after the window", async () => {
    const { call } = await serve({ max: 1, timeWindow: 300 }, { store: store() })
    expect(await statuses(2, call)).toEqual([200, 429])
    await sleep(310)
    expect(await statuses(2, call)).toEqual([200, 429])
  })

  test("max and timeWindow may be functions of the request", async () => {
    const { call } = await serve(
      { max: (_, key) => (key === "gold" ? 3 : 1), timeWindow: () => 60_000 },
      { store: store() },
    )
    expect(await statuses(4, () => call("/", "gold"))).toEqual([200, 200, 200, 429])
    expect(await statuses(2, () => call("/", "tin"))).toEqual([200, 429])
  })

  test("a limit of 0 denies every request", async () => {
    const { call } = await serve({ max: 0 }, { store: store() })
    expect(await statuses(2, call)).toEqual([429, 429])
  })

  test("a route with a limit of its own has counters of its own", async () => {
    const { call } = await serve({ max: 2 }, { store: store() }, (app) => {
      app.get("/search", { config: { rateLimit: { max: 1 } } }, async () => "found")
    })
    expect(await statuses(2, () => call("/search"))).toEqual([200, 429])
    expect(await statuses(3, call)).toEqual([200, 200, 429])
  })

  test("routes of one group share their counters", async () => {
    const config = { rateLimit: { max: 2, groupId: "otp" } }
    const { call } = await serve({ max: 9 }, { store: store() }, (app) => {
      app.get("/send", { config }, async () => "sent")
      app.get("/resend", { config }, async () => "sent")
    })
    const found = [await call("/send"), await call("/resend"), await call("/send"), await call("/resend")]
    expect(found.map(({ status }) => status)).toEqual([200, 200, 429, 429])
  })

  test("two limiters of createRateLimit do not share counters", async () => {
    const { call } = await serve({ global: false }, { store: store() }, (app) => {
      const [one, two] = [app.createRateLimit({ max: 1 }), app.createRateLimit({ max: 1 })]
      app.get("/both", async (request, reply) => {
        const found = [await one(request), await two(request)]
        const exceeded = found.some((each) => !each.isAllowed && each.isExceeded)
        return reply.status(exceeded ? 429 : 200).send(found)
      })
    })
    expect(await statuses(2, () => call("/both"))).toEqual([200, 429])
  })

  test("increment: false looks and counts nothing", async () => {
    const seen: unknown[] = []
    const { call } = await serve({ global: false }, { store: store() }, (app) => {
      const limit = app.createRateLimit({ max: 2 })
      app.get("/look", async (request) => seen.push(await limit(request, { increment: false })))
      app.get("/hit", async (request) => seen.push(await limit(request)))
    })
    for (const url of ["/look", "/hit", "/look", "/hit", "/hit", "/look"]) await call(url)
    const remaining = seen.map((each) => (each as { remaining: number }).remaining)
    expect(remaining).toEqual([2, 1, 1, 0, 0, 0])
    expect((seen[5] as { isExceeded: boolean }).isExceeded).toBe(false)
  })

  test("ban counts denied requests", async () => {
    const onBanReach = vi.fn()
    const { call } = await serve({ max: 2, ban: 1, onBanReach }, { store: store() })
    expect(await statuses(5, call)).toEqual([200, 200, 429, 403, 403])
    expect(onBanReach).toHaveBeenCalledTimes(2)
  })

  test("ban counts denied requests also under a policy", async () => {
    const policy = tokenBucket({ capacity: 2, refill: 1, every: "1h" })
    const { call } = await serve({ max: 2, ban: 1 }, { store: store(), policy })
    expect(await statuses(5, call)).toEqual([200, 200, 429, 403, 403])
  })

  test("continueExceeding starts the window anew with every denied request", async () => {
    const { call } = await serve({ max: 1, timeWindow: 800, continueExceeding: true }, { store: store() })
    expect(await statuses(2, call)).toEqual([200, 429])
    await sleep(500)
    expect((await call()).status).toBe(429)
    await sleep(500)
    // The first window is over, the window of the last denial is not.
    expect((await call()).status).toBe(429)
    await sleep(850)
    expect((await call()).status).toBe(200)
  })

  test("exponentialBackoff doubles the wait with every denied request, and keeps it", async () => {
    const options = { global: false, max: 1, timeWindow: 300, exponentialBackoff: true }
    const { app } = await serve(options, { store: store() })
    const limit = app.createRateLimit()
    const found: unknown[] = []
    app.get("/hit", async (request) => found.push(await limit(request)))
    app.get("/look", async (request) => found.push(await limit(request, { increment: false })))
    for (let i = 0; i < 4; i += 1) await app.inject("/hit")
    expect(found.map((each) => (each as { ttl: number }).ttl).slice(1)).toEqual([300, 600, 1_200])
    await sleep(700)
    await app.inject("/look")
    expect(found[4]).toMatchObject({ isExceeded: true })
    await sleep(600)
    await app.inject("/look")
    await app.inject("/hit")
    expect(found.slice(5)).toMatchObject([
      { isExceeded: false, remaining: 1 },
      { isExceeded: false, remaining: 0 },
    ])
  })

  test("a function as the policy gets the peer's limit and window", async () => {
    const policy = vi.fn(slidingWindow)
    const { call } = await serve({ max: 2, timeWindow: "1 minute" }, { store: store(), policy })
    expect(await statuses(3, call)).toEqual([200, 200, 429])
    expect(policy).toHaveBeenCalledWith({ limit: 2, window: 60_000 })
  })
})

test("without a store, each registration counts in memory of its own", async () => {
  const prefix = newPrefix()
  const [one, two] = [await serve({ max: 1 }, { prefix }), await serve({ max: 1 }, { prefix })]
  expect([(await one.call()).status, (await two.call()).status]).toEqual([200, 200])
})

test("a store that fails is the peer's store error", async () => {
  const broken = { ...memoryStore(), decide: () => Promise.reject(new Error("gone")) } as Store
  const strictly = await serve({ max: 1 }, { store: broken })
  expect((await strictly.call()).status).toBe(500)
  const leniently = await serve({ max: 1, skipOnError: true }, { store: broken })
  expect((await leniently.call()).status).toBe(200)
})
