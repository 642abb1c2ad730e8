import type { Connecting } from "../redis.js"
import type { Subject } from "../subject.js"
import { rateLimitRedis, rateLimitRedisStack } from "./rate-limit-redis.js"
import { flexible } from "./rate-limiter-flexible.js"
import { sluice } from "./sluice.js"

const connect = { enableAutoPipelining: true }

/** Subjects by name, with and without ioredis' auto-pipelining. Processes that make them in this order share their keys. */
export const pipelined: Record<string, (on: Connecting) => Promise<Subject>> = {
  sluice: (on) => sluice(on),
  "sluice, auto-pipelining": (on) => sluice(on, { name: "sluice, auto-pipelining", connect }),
  "rate-limiter-flexible": (on) => flexible(on),
  "rate-limiter-flexible, auto-pipelining": (on) =>
    flexible(on, { name: "rate-limiter-flexible, auto-pipelining", connect }),
  "rate-limit-redis": (on) => rateLimitRedis(on),
  "rate-limit-redis, auto-pipelining": (on) =>
    rateLimitRedisStack(on, [10_000], undefined, { name: "rate-limit-redis, auto-pipelining", connect }),
}
