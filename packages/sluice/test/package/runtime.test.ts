import { symlink } from "node:fs/promises"
import { join } from "node:path"
import { expect, inject, test } from "vitest"
import { createConsumer, root, run } from "./consumer.js"

const use = `
  const limiter = createLimiter({ name: "api", policy: tokenBucket({ capacity: 100, refill: 10, every: "1s" }) })
  const print = (decision) => console.log(decision.allowed, decision.remaining)
  const all = [limitedFetch, redisStore, glide, ioredis, nodeRedis, redissonRateLimiter, conformance, manualClock, countingOf, policyRef, createRules, prometheus]
  all.push(clientKey, express.rateLimit, fastify.rateLimit, hono.rateLimit, koa.rateLimit, web.rateLimit)
  all.push(...[betterAuth, expressRateLimit, fastifyRateLimit, nestThrottler].map((peer) => peer.sluiceStore))
  console.log(all.includes(undefined))
`

const printed = "false\ntrue 99\n"

test("an ES module imports every entry point except Nest's, without any framework or client installed", async () => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.js": `
      import { createLimiter, tokenBucket } from "sluice"
      import * as betterAuth from "sluice/better-auth"
      import * as expressRateLimit from "sluice/express-rate-limit"
      import * as fastifyRateLimit from "sluice/fastify-rate-limit"
      import * as nestThrottler from "sluice/nest-throttler"
      import * as express from "sluice/express"
      import * as fastify from "sluice/fastify"
      import { limitedFetch } from "sluice/fetch"
      import * as hono from "sluice/hono"
      import { clientKey } from "sluice/http"
      import * as koa from "sluice/koa"
      import { glide, ioredis, nodeRedis, redisStore } from "sluice/redis"
      import { redissonRateLimiter } from "sluice/redisson"
      import { createRules } from "sluice/rules"
      import { countingOf, policyRef } from "sluice/store"
      import { prometheus } from "sluice/telemetry"
      import { conformance, manualClock } from "sluice/testing"
      import * as web from "sluice/web"
      ${use}
      print(await limiter.tryAcquire("user:42"))
    `,
  })
  expect(await run(consumer.folder, "node", "main.js")).toBe(printed)
})

test("a CommonJS module requires every entry point except Nest's", async () => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.cjs": `
      const { createLimiter, tokenBucket } = require("sluice")
      const betterAuth = require("sluice/better-auth")
      const expressRateLimit = require("sluice/express-rate-limit")
      const fastifyRateLimit = require("sluice/fastify-rate-limit")
      const nestThrottler = require("sluice/nest-throttler")
      const express = require("sluice/express")
      const fastify = require("sluice/fastify")
      const { limitedFetch } = require("sluice/fetch")
      const hono = require("sluice/hono")
      const { clientKey } = require("sluice/http")
      const koa = require("sluice/koa")
      const { glide, ioredis, nodeRedis, redisStore } = require("sluice/redis")
      const { redissonRateLimiter } = require("sluice/redisson")
      const { createRules } = require("sluice/rules")
      const { countingOf, policyRef } = require("sluice/store")
      const { prometheus } = require("sluice/telemetry")
      const { conformance, manualClock } = require("sluice/testing")
      const web = require("sluice/web")
      ${use}
      limiter.tryAcquire("user:42").then(print)
    `,
  })
  expect(await run(consumer.folder, "node", "main.cjs")).toBe(printed)
})

const guarded = `
  const limited = RateLimitModule.forRoot({ policy: tokenBucket({ capacity: 1, refill: 1, every: "1s" }) })
  console.log(limited.module === RateLimitModule, new RateLimitException({ status: 429, body: "" }) instanceof HttpException)
`

test.each([
  ["12", join(root, "node_modules/@nestjs")],
  ["11", join(root, "peers/nest11/node_modules/@nestjs")],
])("the module for Nest %s imports Nest, as an ES module and by require", async (_, nest) => {
  await using consumer = await createConsumer(inject("packed"), {
    "main.js": `
      import { HttpException } from "@nestjs/common"
      import { tokenBucket } from "sluice"
      import { RateLimitException, RateLimitModule } from "sluice/nest"
      ${guarded}
    `,
    "main.cjs": `
      const { HttpException } = require("@nestjs/common")
      const { tokenBucket } = require("sluice")
      const { RateLimitException, RateLimitModule } = require("sluice/nest")
      ${guarded}
    `,
  })
  await symlink(nest, join(consumer.folder, "node_modules/@nestjs"))
  expect(await run(consumer.folder, "node", "main.js")).toBe("true true\n")
  expect(await run(consumer.folder, "node", "main.cjs")).toBe("true true\n")
})
