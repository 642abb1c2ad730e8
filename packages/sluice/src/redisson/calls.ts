import { SluiceError } from "../errors.js"
import type { Call } from "../stores/redis/call.js"
import type { RedisClient } from "../stores/redis/client.js"
import { outcomeOf } from "../stores/redis/outcome.js"
import { errorOf, runScript, sleep, storeError } from "../stores/redis/run-script.js"

/** Where calls go, and for how many milliseconds one that did not run is tried again. */
export interface Route {
  readonly client: RedisClient
  readonly patience: number
}

/** Runs a script and reads its reply; again only if it certainly did not run, while there is patience. */
export async function send<T>(route: Route, call: Call, read: (reply: unknown) => T): Promise<T> {
  const sentAt = performance.now()
  for (let pause = 4; ; pause *= 2) {
    try {
      return read(await runScript(route.client, call))
    } catch (thrown) {
      const error = errorOf(thrown)
      const left = route.patience - (performance.now() - sentAt)
      if (outcomeOf(error) !== "again" || left <= 0) throw storeError(error)
      await sleep(Math.min(pause, left))
    }
  }
}

/** One ask for permits, with what makes its entry one of a kind. */
export interface PermitAsk {
  readonly permits: number
  /** 16 random bytes in hex. */
  readonly random: string
}

/** What `acquire.lua` made of asks. */
export interface Grants {
  /** How many passed, from the first on. */
  readonly granted: number
  /** Permits left. */
  readonly free: number
  /** Milliseconds until the first that did not pass would. */
  readonly wait: number
  readonly rate: number
  readonly interval: number
}

export function encodePermitAsks(asks: readonly PermitAsk[]): string[] {
  return asks.flatMap(({ permits, random }) => [String(permits), random])
}

/** Reads a reply of `acquire.lua`; throws what Redisson throws, in its words. */
export function readGrants(limiter: string, first: PermitAsk): (reply: unknown) => Grants {
  return (reply) => {
    const [granted, free, wait, rate, interval] = Array.isArray(reply) ? reply.map(integer) : []
    if (granted === -1) throw notInitialized(limiter)
    if (granted === -2) {
      throw new SluiceError(
        "INVALID_COST",
        `Requested permits amount cannot exceed defined rate: ${first.permits} permits of ${free}; ask for fewer at a time`,
      )
    }
    if (interval === undefined) throw new TypeError(`expected five integers from Redis, got ${String(reply)}`)
    return { granted, free, wait, rate, interval } as Grants
  }
}

export function notInitialized(limiter: string): SluiceError {
  return new SluiceError(
    "NOT_INITIALIZED",
    `RateLimiter is not initialized: nobody has set a rate for ${limiter}; call trySetRate, or give it a config`,
  )
}

/** Reads an integer, whatever the client made of it. */
export function integer(value: unknown): number {
  const number = typeof value === "number" ? value : Number(String(value))
  if (Number.isSafeInteger(number)) return number
  throw new TypeError(`expected an integer from Redis, got ${String(value)}`)
}
