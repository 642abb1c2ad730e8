import {
  createLimiter,
  type Decision,
  type LimiterOptions,
  type Policies,
  SluiceError,
  tokenBucket,
} from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import type { Connecting } from "../redis.js"
import { plenty, type Subject, serial, type WaitingSubject } from "../subject.js"

/** A bucket that never runs dry in a run; a key that is asked for less than ten times a second fills up in between. */
export const roomyBucket = tokenBucket({ capacity: plenty, refill: 10, every: "1s" })

export interface SluiceOptions {
  readonly name?: string
  readonly policy?: Policies
  readonly lease?: boolean
  /** Two processes that share a limiter name it alike. */
  readonly limiter?: string
}

/** This library on Redis, as its documentation sets it up. */
export async function sluice(on: Connecting, options: SluiceOptions = {}): Promise<Subject> {
  const { policy = roomyBucket, lease = false, limiter: called = `bench${serial()}` } = options
  const client = await on.connect()
  const common = { name: called, policy, store: redisStore(ioredis(client)) }
  // the cast lets this compile against versions that have no leases
  const limiter = createLimiter((lease ? { ...common, lease: true } : common) as LimiterOptions<Policies>)
  return {
    name: options.name ?? "sluice",
    decide: (key) => limiter.tryAcquire(key),
    passed: (answer) => {
      if (answer instanceof Error) throw answer
      return (answer as Decision).allowed
    },
    async close() {
      await limiter.close()
      client.disconnect()
    },
  }
}

/** The same with leases; nothing from a version that has none. */
export async function leasedSluice(
  on: Connecting,
  options: SluiceOptions = {},
): Promise<Subject | undefined> {
  try {
    return await sluice(on, { name: "sluice, leased", ...options, lease: true })
  } catch (error) {
    if (error instanceof SluiceError && error.code === "INVALID_OPTION") return undefined
    throw error
  }
}

/** Callers that wait for their turn, on Redis or, without one, in memory. */
export async function waitingSluice(policy: Policies, on?: Connecting): Promise<WaitingSubject> {
  const client = await on?.connect()
  const common = { name: `bench${serial()}`, policy }
  const limiter = createLimiter(client ? { ...common, store: redisStore(ioredis(client)) } : common)
  const key = "everybody"
  return {
    wait: (granted) => limiter.acquire(key).then(granted),
    // asks leave in the order in which they came: this one is answered behind all before it
    inLine: () => limiter.peek(key),
    async close() {
      await limiter.close()
      client?.disconnect()
    },
  }
}
