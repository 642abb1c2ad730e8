import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { expect, inject, test } from "vitest"
import { createConsumer, root, run } from "./consumer.js"

const main = `
  import { createLimiter, tokenBucket } from "sluice"
  import { limitedFetch } from "sluice/fetch"
  import { glide, ioredis, nodeRedis, redisStore } from "sluice/redis"
  import { redissonRateLimiter } from "sluice/redisson"
  import { countingOf, policyRef } from "sluice/store"
  import { conformance, manualClock } from "sluice/testing"

  const limiter = createLimiter({ name: "api", policy: tokenBucket({ capacity: 100, refill: 10, every: "1s" }) })
  const decision = await limiter.tryAcquire("user:42")
  const allowed: boolean = decision.allowed
  const remaining: number = decision.remaining
  console.log(allowed, remaining, redisStore, glide, ioredis, nodeRedis, conformance, manualClock, countingOf, policyRef)
  const partner: typeof fetch = limitedFetch({ policy: tokenBucket({ capacity: 1, refill: 1, every: "1s" }) })
  const answer: Response = await partner("https://partner.example/", { signal: AbortSignal.timeout(1_000) })
  console.log(answer.status)

  const shared = redissonRateLimiter({ run: async () => [] }, "partner")
  const waited: Promise<{ allowed: boolean; retryAfter: number }> = shared.tryAcquire(5, { timeout: "1s" })
  console.log(waited, shared.setRate("PER_CLIENT", 5, "1s", "1m", { keepState: false }))
  // @ts-expect-error a rate is for all clients or for each
  shared.trySetRate("GLOBAL", 5, "1s")

  // @ts-expect-error a policy says how often it refills
  tokenBucket({ capacity: 100, refill: 10 })
  // @ts-expect-error a decision has no such field
  decision.permitted
`

const options = { strict: true, noEmit: true, skipLibCheck: false, target: "es2022", types: ["node"] }

test.each([
  { module: "nodenext", moduleResolution: "nodenext" },
  { module: "preserve", moduleResolution: "bundler" },
])("the types hold for a consumer that resolves with $moduleResolution", async (resolution) => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.ts": main,
    "tsconfig.json": JSON.stringify({ compilerOptions: { ...options, ...resolution }, files: ["main.ts"] }),
  })
  expect(await run(consumer.folder, join(root, "node_modules/.bin/tsc"))).toBe("")
})

test("the types of the core need neither Node's types nor a library newer than es2022", async () => {
  const bare = { ...options, module: "preserve", moduleResolution: "bundler", lib: ["es2022"], types: [] }
  await using consumer = await createConsumer(inject("packed"), {
    "main.ts": `
      import { createLimiter, type Decision, tokenBucket } from "sluice"
      const limiter = createLimiter({ policy: tokenBucket({ capacity: 1, refill: 1, every: "1s" }) })
      export const decision: Promise<Decision> = limiter.tryAcquire("k")
    `,
    "tsconfig.json": JSON.stringify({ compilerOptions: bare, files: ["main.ts"] }),
  })
  expect(await run(consumer.folder, join(root, "node_modules/.bin/tsc"))).toBe("")
})

test("the types of sluice/fetch are those of the fetch there is, a browser's too", async () => {
  const browser = {
    ...options,
    module: "preserve",
    moduleResolution: "bundler",
    lib: ["es2022", "dom"],
    types: [],
  }
  await using consumer = await createConsumer(inject("packed"), {
    "main.ts": `
      import { fixedWindow } from "sluice"
      import { limitedFetch } from "sluice/fetch"
      const limited = limitedFetch({ policy: fixedWindow({ limit: 1, window: "1s" }) }, { fetch: window.fetch })
      export const answer: Promise<Response> = limited("/path", { priority: "low" })
    `,
    "tsconfig.json": JSON.stringify({ compilerOptions: browser, files: ["main.ts"] }),
  })
  expect(await run(consumer.folder, join(root, "node_modules/.bin/tsc"))).toBe("")
})

test("the types of the middleware are those of its framework", async () => {
  const compilerOptions = { ...options, skipLibCheck: true, module: "nodenext", experimentalDecorators: true }
  await using consumer = await createConsumer(inject("packed"), {
    "main.ts": `
      import express from "express"
      import fastify from "fastify"
      import { Hono } from "hono"
      import Koa from "koa"
      import { createLimiter, fixedWindow } from "sluice"
      import { rateLimit as forExpress } from "sluice/express"
      import { rateLimit as forFastify } from "sluice/fastify"
      import { rateLimit as forHono } from "sluice/hono"
      import { clientKey, decisionOf } from "sluice/http"
      import { rateLimit as forKoa } from "sluice/koa"
      import { RateLimit, RateLimitModule, SkipRateLimit } from "sluice/nest"
      import { rateLimit as forWeb } from "sluice/web"

      const policy = fixedWindow({ limit: 1, window: "1s" })
      const limiter = createLimiter({ policy: { burst: policy, daily: policy } })
      express().use(forExpress({ policy, key: (req) => req.get("x-api-key") ?? "" }))
      express().use(forExpress({ limiter, key: clientKey({ trustProxy: 1 }), cost: { daily: 2 } }))
      express().get("/", (req, res) => res.json(decisionOf(req)?.remaining))
      new Koa().use(forKoa({ policy, skip: (ctx) => ctx.path === "/health" }))
      new Hono().use(forHono({ policy, key: (c) => c.req.header("x-api-key") ?? "" }))
      fastify().register(forFastify({ limiter: (request) => (request.url === "/" ? limiter : limiter) }))
      fastify().get("/", { config: { sluice: { policy, cost: (request) => request.url.length } } }, async () => "")
      const handler = forWeb({ policy, key: (request) => request.url })((request: Request, id: number) => Response.json(id))
      export const response: Response | PromiseLike<Response> = handler(new Request("http://x/"), 7)
      RateLimitModule.forRoot({ policy, key: (request) => request.headers.authorization ?? "" })
      RateLimitModule.forRoot({ limiter, key: (request: express.Request) => request.ip ?? "", guard: "manual" })
      RateLimitModule.forRootAsync({ inject: ["LIMITER"], useFactory: (it: typeof limiter) => ({ limiter: it }) })
      class Routes {
        @RateLimit({ policy: { burst: policy, daily: policy }, cost: { daily: 2 } })
        limited() {}
        @SkipRateLimit()
        free() {}
      }
      export const routes = Routes

      // @ts-expect-error a Request does not know its client, so a key or an address is required
      forWeb({ policy })
      // @ts-expect-error there is no such guard
      RateLimitModule.forRoot({ policy, guard: "off" })
      // @ts-expect-error there is no such option
      forExpress({ policy, windowMs: 1_000 })
    `,
    "tsconfig.json": JSON.stringify({ compilerOptions, files: ["main.ts"] }),
  })
  const modules = join(consumer.folder, "node_modules")
  await mkdir(join(modules, "@types"), { recursive: true })
  for (const name of ["@types/express", "@types/koa", "@nestjs", "fastify", "hono"]) {
    await symlink(join(root, "node_modules", name), join(modules, name))
  }
  expect(await run(consumer.folder, join(root, "node_modules/.bin/tsc"))).toBe("")
})
