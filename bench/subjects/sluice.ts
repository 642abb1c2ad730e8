import { type Cost, createLimiter, type Decision, type Policies, tokenBucket } from "sluice"
import { ioredis, redisStore } from "sluice/redis"
import type { Connecting, ConnectOptions } from "../redis.js"
import { plenty, type Subject, serial, type WaitingSubject } from "../subject.js"

/** A bucket that never runs dry in a run; a key that is asked for less than ten times a second fills up in between. */
export const roomyBucket = tokenBucket({ capacity: plenty, refill: 10, every: "1s" })

export interface SluiceOptions {
  readonly name?: string
  readonly policy?: Policies
  readonly lease?: boolean
  /** What the next request costs; 1 if left out. */
  readonly costOfNext?: () => Cost<Policies>
  /** Two processes that share a limiter name it alike. */
  readonly limiter?: string
  /** `"script"` sends the Lua library by EVALSHA, as on servers without functions. */
  readonly delivery?: "function" | "script"
  readonly connect?: ConnectOptions
}

/** This library on Redis, as its documentation sets it up. */
export async function sluice(on: Connecting, options: SluiceOptions = {}): Promise<Subject> {
  const { policy = roomyBucket, lease = false, delivery = "function", costOfNext } = options
  const { limiter: name = `bench${serial()}` } = options
  const client = await on.connect(options.connect)
  const limiter = createLimiter({ name, policy, store: redisStore(ioredis(client), { delivery }), lease })
  return {
    name: options.name ?? "sluice",
    decide: costOfNext
      ? (key) => limiter.tryAcquire(key, { cost: costOfNext() })
      : (key) => limiter.tryAcquire(key),
    passed: (reply) => {
      if (reply instanceof Error) throw reply
      return (reply as Decision).allowed
    },
    async close() {
      await limiter.close()
      client.disconnect()
    },
  }
}

/** The same with leases. */
export function leasedSluice(on: Connecting, options: SluiceOptions = {}): Promise<Subject> {
  return sluice(on, { name: "sluice, leased", ...options, lease: true })
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
