import { Ratelimit } from "@upstash/ratelimit"
import type { Connecting } from "../redis.js"
import { plenty, type Subject, serial } from "../subject.js"

type Window = Parameters<typeof Ratelimit.slidingWindow>[1]

export interface UpstashOptions {
  readonly name?: string
  readonly limiter?: ReturnType<typeof Ratelimit.tokenBucket>
}

export const upstashBucket = (refill: number, every: Window, capacity: number) =>
  Ratelimit.tokenBucket(refill, every, capacity)
export const upstashSliding = (limit: number, window: Window) => Ratelimit.slidingWindow(limit, window)
export const upstashFixed = (limit: number, window: Window) => Ratelimit.fixedWindow(limit, window)

/**
 * It speaks to Redis through an HTTP client that has these two methods; over ioredis it is spared the HTTP.
 * From 2.1.0 on its scripts ask for a flag that only its vendor's servers know, so this is the version before.
 */
export async function upstash(on: Connecting, options: UpstashOptions = {}): Promise<Subject> {
  const client = await on.connect()
  const redis = {
    evalsha: (sha: string, keys: string[], args: unknown[]) =>
      client.evalsha(sha, keys.length, ...keys, ...(args as string[])),
    eval: (script: string, keys: string[], args: unknown[]) =>
      client.eval(script, keys.length, ...keys, ...(args as string[])),
  }
  const limiter = new Ratelimit({
    redis: redis as unknown as ConstructorParameters<typeof Ratelimit>[0]["redis"],
    limiter: options.limiter ?? upstashBucket(10, "1 s", plenty),
    prefix: `up${serial()}`,
  })
  return {
    name: options.name ?? "@upstash/ratelimit",
    decide: (key) => limiter.limit(key),
    passed: (reply) => {
      if (reply instanceof Error) throw reply
      return (reply as { success: boolean }).success
    },
    async close() {
      client.disconnect()
    },
  }
}
