import { RateLimiterRedis, RateLimiterRes, RateLimiterUnion } from "rate-limiter-flexible"
import type { Connecting, ConnectOptions } from "../redis.js"
import { baseline, plenty, type Subject, serial } from "../subject.js"

export interface FlexibleOptions {
  readonly name?: string
  readonly points?: number
  /** Seconds: it has no shorter unit. */
  readonly duration?: number
  /** Whether it remembers in memory which keys are over their limit. */
  readonly blockCache?: boolean
  /** What the next request costs; 1 if left out. */
  readonly costOfNext?: () => number
  readonly connect?: ConnectOptions
}

export async function flexible(on: Connecting, options: FlexibleOptions = {}): Promise<Subject> {
  const { points = plenty, duration = 10, blockCache = false, costOfNext } = options
  const client = await on.connect(options.connect)
  const limiter = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: `rlf${serial()}`,
    points,
    duration,
    ...(blockCache ? { inMemoryBlockOnConsumed: points, inMemoryBlockDuration: duration } : {}),
  })
  return {
    name: options.name ?? baseline,
    decide: costOfNext ? (key) => limiter.consume(key, costOfNext()) : (key) => limiter.consume(key),
    passed: (reply) => {
      if (!(reply instanceof RateLimiterRes)) throw reply
      return reply.consumedPoints > 0 && reply.consumedPoints <= points
    },
    async close() {
      client.disconnect()
    },
  }
}

/** A budget of requests and one of what they cost: a call to Redis for each, since a union charges both the same. */
export async function flexibleBudgets(on: Connecting, costOfNext: () => number): Promise<Subject> {
  const client = await on.connect()
  const [requests, tokens] = Array.from({ length: 2 }, () => {
    const keyPrefix = `rlf${serial()}`
    return new RateLimiterRedis({ storeClient: client, keyPrefix, points: plenty, duration: 10 })
  }) as [RateLimiterRedis, RateLimiterRedis]
  return {
    name: baseline,
    decide: (key) => Promise.all([requests.consume(key), tokens.consume(key, costOfNext())]),
    passed: (reply) => {
      if (!Array.isArray(reply)) throw reply
      return reply.every(({ consumedPoints }) => consumedPoints <= plenty)
    },
    async close() {
      client.disconnect()
    },
  }
}

/** Its way to hold a key to several limits: one call to Redis for each. */
export async function flexibleUnion(on: Connecting, durations: readonly number[]): Promise<Subject> {
  const client = await on.connect()
  const union = new RateLimiterUnion(
    ...durations.map((duration) => {
      const keyPrefix = `rlf${serial()}`
      return new RateLimiterRedis({ storeClient: client, keyPrefix, points: plenty, duration })
    }),
  )
  return {
    name: baseline,
    decide: (key) => union.consume(key),
    passed: (reply) => {
      if (reply instanceof Error) throw reply
      return Object.keys(reply as object).length === durations.length
    },
    async close() {
      client.disconnect()
    },
  }
}
