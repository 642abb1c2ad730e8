import { connect } from "node:http2"
import type { AddressInfo } from "node:net"
import fastify, { type FastifyRequest } from "fastify"
import { describe, expect, onTestFinished, test } from "vitest"
import { createLimiter } from "../create-limiter.js"
import type { RateLimitOptions } from "../http/options.js"
import { fixedWindow } from "../policy.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { type FastifyOptions, rateLimit } from "./fastify.js"

const perMinute = (limit: number) => fixedWindow({ limit, window: "1m" })

/** An application with a route for each of the configurations, and one without. */
async function appWith(
  options: FastifyOptions | undefined,
  routes: Record<string, false | RateLimitOptions<FastifyRequest>> = {},
) {
  const app = fastify()
  onTestFinished(() => app.close())
  app.register(rateLimit(options))
  app.register(async (child) => {
    child.get("/plain", async () => "done")
    for (const [url, sluice] of Object.entries(routes))
      child.get(url, { config: { sluice } }, async () => "done")
  })
  await app.ready()
  const statuses = async (...urls: string[]) => {
    const all: number[] = []
    for (const url of urls) all.push((await app.inject(url)).statusCode)
    return all
  }
  return { app, statuses }
}

describe("a route of Fastify", () => {
  test("has its own policy and counters, next to the limit for all routes", async () => {
    const { statuses } = await appWith({ policy: perMinute(2) }, { "/login": { policy: perMinute(1) } })
    expect(await statuses("/login", "/login", "/plain", "/plain", "/plain")).toEqual([
      200, 429, 200, 200, 429,
    ])
  })

  test("inherits the key and the store, and may override the cost", async () => {
    const store = memoryStore()
    const all = { policy: perMinute(4), store, key: () => "everybody" }
    const { statuses } = await appWith(all, { "/heavy": { cost: 3 } })
    expect(await statuses("/heavy", "/plain", "/plain", "/heavy")).toEqual([200, 200, 429, 429])
    const limiter = createLimiter({
      name: "fixedWindow-align-first-limit-4-window-60000",
      policy: perMinute(4),
      store,
    })
    expect(await limiter.peek("everybody")).toMatchObject({ remaining: 0 })
  })

  test("may have its own limiter, in place of the store for all routes", async () => {
    const limiter = createLimiter({ policy: perMinute(1) })
    const all = { policy: perMinute(9), store: memoryStore(), name: "all" }
    const { statuses } = await appWith(all, { "/own": { limiter } })
    expect(await statuses("/own", "/own", "/plain")).toEqual([200, 429, 200])
  })

  test("may be left unlimited", async () => {
    const { statuses } = await appWith({ policy: perMinute(1) }, { "/health": false })
    expect(await statuses("/health", "/health", "/plain", "/plain")).toEqual([200, 200, 200, 429])
  })

  test("alone is limited when there is no policy for all", async () => {
    const { statuses } = await appWith(undefined, { "/login": { policy: perMinute(1) } })
    expect(await statuses("/plain", "/plain", "/login", "/login")).toEqual([200, 200, 200, 429])
  })

  test("with a wrong option fails when it is added", async () => {
    const wrong = { policy: perMinute(1), limit: 5 } as RateLimitOptions<FastifyRequest>
    await expect(appWith(undefined, { "/login": wrong })).rejects.toThrow(/rateLimit has no field "limit"/)
  })
})

test("requests to paths that Fastify does not know are limited too", async () => {
  const { statuses } = await appWith({ policy: perMinute(1) })
  expect(await statuses("/a", "/b")).toEqual([404, 429])
})

test("with the hook preHandler the key may come from an earlier hook", async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  app.decorateRequest("user", "")
  const key = (request: FastifyRequest) => (request as FastifyRequest & { user: string }).user
  app.register(rateLimit({ policy: perMinute(1), hook: "preHandler", key }))
  app.addHook("onRequest", async (request) => {
    Object.assign(request, { user: request.headers["x-user"] })
  })
  app.get("/", async () => "done")
  const as = async (user: string) => (await app.inject({ url: "/", headers: { "x-user": user } })).statusCode
  expect([await as("ann"), await as("bob"), await as("ann")]).toEqual([200, 200, 429])
})

test("over HTTP/2, a response that was sent is a success, and one that was aborted a failure", async () => {
  const limiter = createLimiter({ policy: perMinute(9) })
  const app = fastify({ http2: true })
  app.register(rateLimit({ limiter, key: () => "k", count: "failures" }))
  app.get("/", async () => "done")
  app.get("/slow", () => new Promise(() => {}))
  await app.listen({ host: "127.0.0.1", port: 0 })
  const client = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  onTestFinished(async () => {
    client.destroy()
    await app.close()
  })
  const remaining = async () => (await limiter.peek("k")).remaining
  const call = client.request({ ":path": "/" })
  await new Promise((resolve) => call.resume().on("end", resolve))
  await expect.poll(remaining).toBe(9)
  const slow = client.request({ ":path": "/slow" })
  await expect.poll(remaining).toBe(8)
  slow.close()
  await new Promise((resolve) => slow.on("close", resolve))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await remaining()).toBe(8)
})
