import { SluiceError } from "../errors.js"
import type { RedisClient } from "../stores/redis/client.js"
import type { Script } from "../stores/redis/library.js"
import { outcomeOf } from "../stores/redis/outcome.js"
import type { LuaCall } from "../stores/redis/protocol.js"
import { runScript, sleep, storeError, toError } from "../stores/redis/transport.js"

/** One call of a script. */
export interface Call extends LuaCall {
  readonly script: Script
}

/** The client, and for how many milliseconds a call that did not run is retried. */
export interface Route {
  readonly client: RedisClient
  readonly patience: number
}

/** Runs a script and decodes its reply. Retries for up to `patience`, and only if the script certainly did not run. */
export async function send<T>(route: Route, call: Call, read: (reply: unknown) => T): Promise<T> {
  const sentAt = performance.now()
  for (let pause = 4; ; pause *= 2) {
    try {
      return read(await runScript(route.client, call.script, call))
    } catch (thrown) {
      const error = toError(thrown)
      const left = route.patience - (performance.now() - sentAt)
      if (outcomeOf(error) !== "again" || left <= 0) throw storeError(error)
      await sleep(Math.min(pause, left))
    }
  }
}

/** One request for permits. The random bytes make its entry in Redis unique. */
export interface PermitRequest {
  readonly permits: number
  /** 16 random bytes in hex. */
  readonly random: string
}

/** The reply of `acquire.lua` to a batch of requests. */
export interface Grants {
  /** How many requests passed, from the first on. */
  readonly granted: number
  /** Permits left. */
  readonly free: number
  /** Milliseconds until the first denied request would pass. */
  readonly wait: number
  readonly rate: number
  readonly interval: number
}

export function encodePermitRequests(requests: readonly PermitRequest[]): string[] {
  return requests.flatMap(({ permits, random }) => [String(permits), random])
}

/** Decodes a reply of `acquire.lua`. The messages of its errors start with the words of Redisson's. */
export function readGrants(limiter: string, first: PermitRequest): (reply: unknown) => Grants {
  return (reply) => {
    const [granted, free, wait, rate, interval] = Array.isArray(reply) ? reply.map(integer) : []
    if (granted === -1) throw notInitialized(limiter)
    if (granted === -2) {
      throw new SluiceError(
        "INVALID_COST",
        `Requested permits amount cannot exceed defined rate: ${first.permits} permits of ${free}. Request fewer at a time`,
      )
    }
    if (interval === undefined) throw new TypeError(`expected five integers from Redis, got ${String(reply)}`)
    return { granted, free, wait, rate, interval } as Grants
  }
}

export function notInitialized(limiter: string): SluiceError {
  return new SluiceError(
    "NOT_INITIALIZED",
    `RateLimiter is not initialized: ${limiter} has no rate. Call trySetRate, or set option config`,
  )
}

/** Reads an integer from a number, string or Buffer, depending on the client. */
export function integer(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isSafeInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}
