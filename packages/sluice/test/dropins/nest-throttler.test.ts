import "reflect-metadata"
import type { Server } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import * as common from "@nestjs/common"
import * as core from "@nestjs/core"
import * as throttler from "@nestjs/throttler"
import { slidingWindow } from "sluice"
import { type SluiceStoreOptions, sluiceStore } from "sluice/nest-throttler"
import * as nest11 from "sluice-nest11"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import { flood, listening, newPrefix, onEachStore, statuses } from "./stores.js"

const nest12 = { common, core, throttler }
type Throttlers = Exclude<throttler.ThrottlerModuleOptions, unknown[]>["throttlers"]

/** A Nest application behind the peer's guard. Decorators are called by hand, because the tests compile none. */
async function serve(nest: typeof nest12, throttlers: Throttlers, own: SluiceStoreOptions = {}) {
  const { Controller, Get, Module } = nest.common
  const { ThrottlerModule, ThrottlerGuard, Throttle, SkipThrottle } = nest.throttler
  class App {
    hello() {
      return "done"
    }
    strict() {
      return "done"
    }
    health() {
      return "done"
    }
  }
  const decorate = (name: keyof App, ...decorators: MethodDecorator[]) => {
    const descriptor = Object.getOwnPropertyDescriptor(App.prototype, name) as PropertyDescriptor
    for (const decorator of decorators) decorator(App.prototype, name, descriptor)
  }
  decorate("hello", Get())
  decorate("strict", Get("strict"), Throttle({ default: { limit: 1, ttl: 60_000 } }))
  decorate("health", Get("health"), SkipThrottle())
  Controller()(App)
  class Root {}
  Module({
    imports: [
      ThrottlerModule.forRoot({
        throttlers,
        storage: sluiceStore({ prefix: newPrefix(), ...own }),
        getTracker: (request) => request["headers"]["x-key"] ?? "anonymous",
      }),
    ],
    controllers: [App],
    providers: [{ provide: nest.core.APP_GUARD, useClass: ThrottlerGuard }],
  })(Root)
  const app = await nest.core.NestFactory.create(Root, { logger: false })
  onTestFinished(() => app.close())
  await app.init()
  const server = await listening(app.getHttpServer() as Server)
  return (path = "/", key = "anonymous") => fetch(server.url + path, { headers: { "x-key": key } })
}

const header = (response: Response, name: string) => Number(response.headers.get(name))

describe.each([
  ["Nest 12", nest12],
  ["Nest 11", nest11 as unknown as typeof nest12],
])("%s", (_, nest) => {
  onEachStore((store) => {
    test("the limit holds, and the peer's headers say so", async () => {
      const call = await serve(nest, [{ limit: 2, ttl: 60_000 }], { store: store() })
      const first = await call()
      expect([
        first.status,
        header(first, "x-ratelimit-limit"),
        header(first, "x-ratelimit-remaining"),
      ]).toEqual([200, 2, 1])
      expect(header(first, "x-ratelimit-reset")).toBe(60)
      await call()
      const denied = await call()
      expect(denied.status).toBe(429)
      expect(header(denied, "retry-after")).toBeGreaterThanOrEqual(58)
      expect(header(denied, "retry-after")).toBeLessThanOrEqual(60)
      expect((await call("/", "somebody else")).status).toBe(200)
    })

    test("of 1,000 parallel requests exactly the limit passes", async () => {
      const call = await serve(nest, [{ limit: 100, ttl: 600_000 }], { store: store() })
      expect(await flood(1_000, () => call())).toEqual({ 200: 100, 429: 900 })
    })

    test("of 300 parallel requests exactly the limit passes before a block", async () => {
      const throttlers = [{ limit: 20, ttl: 600_000, blockDuration: 300_000 }]
      const call = await serve(nest, throttlers, { store: store() })
      expect(await flood(300, () => call())).toEqual({ 200: 20, 429: 280 })
      expect((await call()).status).toBe(429)
    })

    test("a route's own limit holds, and a skipped route has none", async () => {
      const call = await serve(nest, [{ limit: 9, ttl: 60_000 }], { store: store() })
      expect(await statuses(2, () => call("/strict"))).toEqual([200, 429])
      expect(await statuses(12, () => call("/health"))).toEqual(Array(12).fill(200))
    })

    test("named throttlers have counters and headers of their own", async () => {
      const throttlers = [
        { name: "short", limit: 1, ttl: 400 },
        { name: "long", limit: 2, ttl: 60_000 },
      ]
      const call = await serve(nest, throttlers, { store: store() })
      const first = await call()
      expect(header(first, "x-ratelimit-remaining-short")).toBe(0)
      expect(header(first, "x-ratelimit-remaining-long")).toBe(1)
      expect((await call()).headers.has("retry-after-short")).toBe(true)
      await sleep(410)
      expect((await call()).status).toBe(200)
      await sleep(410)
      expect((await call()).headers.has("retry-after-long")).toBe(true)
    })

    test("after a block shorter than the window, the count is empty", async () => {
      const throttlers = [{ limit: 2, ttl: 60_000, blockDuration: 1_500 }]
      const call = await serve(nest, throttlers, { store: store() })
      expect(await statuses(3, call)).toEqual([200, 200, 429])
      const blocked = await call()
      expect([blocked.status, header(blocked, "retry-after")]).toEqual([429, expect.any(Number)])
      expect(header(blocked, "retry-after")).toBeLessThanOrEqual(2)
      await sleep(1_600)
      const next = await call()
      expect([next.status, header(next, "x-ratelimit-remaining")]).toEqual([200, 1])
      expect(await statuses(2, call)).toEqual([200, 429])
    })

    test("a block longer than the window outlasts it, and the count is empty after it", async () => {
      const throttlers = [{ limit: 1, ttl: 300, blockDuration: 1_500 }]
      const call = await serve(nest, throttlers, { store: store() })
      expect(await statuses(2, call)).toEqual([200, 429])
      await sleep(500)
      expect(await statuses(2, call)).toEqual([429, 429])
      await sleep(1_200)
      const next = await call()
      expect([next.status, header(next, "x-ratelimit-remaining")]).toEqual([200, 0])
    })

    test("a function as the policy gets the peer's limit and window", async () => {
      const policy = vi.fn(slidingWindow)
      const call = await serve(nest, [{ limit: 2, ttl: 60_000 }], { store: store(), policy })
      expect(await statuses(3, call)).toEqual([200, 200, 429])
      expect(policy).toHaveBeenCalledWith({ limit: 2, window: 60_000 })
    })
  })
})

test("the storage has the type of the peer's", async () => {
  const storage: throttler.ThrottlerStorage = sluiceStore()
  expect(await storage.increment("k", 1_500, 5, 1_500, "default")).toEqual({
    totalHits: 1,
    timeToExpire: 2,
    isBlocked: false,
    timeToBlockExpire: 0,
  })
})
