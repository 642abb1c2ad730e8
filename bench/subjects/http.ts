import type { IncomingMessage, RequestListener } from "node:http"
import fastifyRateLimit from "@fastify/rate-limit"
import { getRequestListener } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import express from "express"
import { rateLimit as expressRateLimit } from "express-rate-limit"
import fastify from "fastify"
import { type Context, Hono } from "hono"
import { rateLimiter as honoRateLimiter } from "hono-rate-limiter"
import { Redis } from "ioredis"
import Koa from "koa"
import koaRatelimit from "koa-ratelimit"
import { type RedisReply, RedisStore } from "rate-limit-redis"
import { fixedWindow, type Store } from "sluice"
import { rateLimit as sluiceExpress } from "sluice/express"
import { rateLimit as sluiceFastify } from "sluice/fastify"
import { rateLimit as sluiceHono } from "sluice/hono"
import { rateLimit as sluiceKoa } from "sluice/koa"
import { ioredis, ioredisSettings, redisStore } from "sluice/redis"
import { plenty } from "../subject.js"

export type Framework = "express" | "fastify" | "koa" | "hono"

/** An application: bare, with our middleware, or with the framework's usual limiter. */
export interface HttpSubject {
  readonly framework: Framework
  readonly limiter: "none" | "sluice" | "usual"
  readonly store: "memory" | "redis"
  /** Whether every request but the first few is over the limit. */
  readonly denied: boolean
}

/** The limiter that people use with a framework. */
export const usual: Record<Framework, string> = {
  express: "express-rate-limit",
  fastify: "@fastify/rate-limit",
  koa: "koa-ratelimit",
  hono: "hono-rate-limiter",
}

const windowMs = 600_000
const body = { hello: "world" }
const limitOf = ({ denied }: HttpSubject) => (denied ? 1 : plenty)

/** In memory the key is the default, the client's address. On Redis it is a header, because all connections have one address. */
const userOf = ({ headers }: { headers: IncomingMessage["headers"] }) => String(headers["x-user"])

const honoUser = (context: Context) => String(context.req.header("x-user"))

/** The limiters that deny have a database of their own, so that they share no counters with those that allow. */
function connect(port: number, { denied }: HttpSubject): Redis {
  return new Redis(port, "127.0.0.1", { ...ioredisSettings, db: denied ? 1 : 0, enableOfflineQueue: true })
}

/** The options of our middleware that all frameworks share. */
function ours(subject: HttpSubject, port: number) {
  const policy = fixedWindow({ limit: limitOf(subject), window: windowMs })
  const store: { store?: Store } =
    subject.store === "redis" ? { store: redisStore(ioredis(connect(port, subject))) } : {}
  return { policy, ...store }
}

/** The store of express-rate-limit, which hono-rate-limiter takes, too. */
function rateLimitRedis(port: number, subject: HttpSubject): RedisStore {
  const client = connect(port, subject)
  const sendCommand = (name: string, ...args: string[]) => client.call(name, ...args) as Promise<RedisReply>
  return new RedisStore({ sendCommand, prefix: "rl:" })
}

/** Creates an application and returns what answers its requests. */
export const apps: Record<Framework, (subject: HttpSubject, port: number) => Promise<RequestListener>> = {
  async express(subject, port) {
    const app = express()
    const onRedis = subject.store === "redis"
    if (subject.limiter === "sluice") {
      const byUser = onRedis ? { key: userOf } : {}
      app.use(sluiceExpress({ ...ours(subject, port), ...byUser }))
    } else if (subject.limiter === "usual") {
      const remote = onRedis ? { store: rateLimitRedis(port, subject), keyGenerator: userOf } : {}
      app.use(expressRateLimit({ windowMs, limit: limitOf(subject), ...remote }))
    }
    app.get("/", (_, response) => {
      response.json(body)
    })
    return app
  },

  async fastify(subject, port) {
    const app = fastify()
    const onRedis = subject.store === "redis"
    if (subject.limiter === "sluice") {
      const byUser = onRedis ? { key: userOf } : {}
      await app.register(sluiceFastify({ ...ours(subject, port), ...byUser }))
    } else if (subject.limiter === "usual") {
      const remote = onRedis ? { redis: connect(port, subject), keyGenerator: userOf } : {}
      await app.register(fastifyRateLimit, { max: limitOf(subject), timeWindow: windowMs, ...remote })
    }
    app.get("/", async () => body)
    await app.ready()
    return (request, response) => app.routing(request, response)
  },

  async koa(subject, port) {
    const app = new Koa()
    const onRedis = subject.store === "redis"
    if (subject.limiter === "sluice") {
      const byUser = onRedis ? { key: userOf } : {}
      app.use(sluiceKoa({ ...ours(subject, port), ...byUser }))
    } else if (subject.limiter === "usual") {
      const limits = { max: limitOf(subject), duration: windowMs }
      app.use(
        onRedis
          ? koaRatelimit({
              driver: "redis",
              db: connect(port, subject) as never,
              id: userOf,
              ...limits,
            })
          : koaRatelimit({ driver: "memory", db: new Map(), ...limits }),
      )
    }
    app.use((context) => {
      context.body = body
    })
    return app.callback()
  },

  async hono(subject, port) {
    const app = new Hono()
    const onRedis = subject.store === "redis"
    if (subject.limiter === "sluice") {
      const byUser = onRedis ? { key: honoUser } : { getConnInfo }
      app.use(sluiceHono({ ...ours(subject, port), ...byUser }))
    } else if (subject.limiter === "usual") {
      app.use(
        honoRateLimiter({
          windowMs,
          limit: limitOf(subject),
          keyGenerator: (context) =>
            onRedis ? honoUser(context) : (getConnInfo(context).remote.address ?? ""),
          ...(onRedis ? { store: rateLimitRedis(port, subject) as never } : {}),
        }),
      )
    }
    app.get("/", (context) => context.json(body))
    return getRequestListener(app.fetch)
  },
}
