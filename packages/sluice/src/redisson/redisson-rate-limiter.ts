/// <reference lib="esnext.disposable" preserve="true" />

import { randomBytes } from "node:crypto"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import type { RedisClient } from "../stores/redis/client.js"
import { checkSignal } from "../waiting/wait-options.js"
import {
  encodePermitRequests,
  integer,
  notInitialized,
  type PermitRequest,
  readGrants,
  send,
} from "./calls.js"
import { denied, type PermitDecision, passed } from "./decision.js"
import { processId, redissonKeys } from "./keys.js"
import { checkRate, decodeRate, encodeRate, type Rate, type RateConfig, type RateType } from "./rate.js"
import { scripts } from "./scripts.js"
import { type PermitScripts, Waiters } from "./waiters.js"

export interface RedissonRateLimiterOptions {
  /** The id of this process under the type `PER_CLIENT`. Default: a random id per process. */
  readonly clientId?: string | undefined
  /** The rate to use while none is set in Redis, or after it expired. The first granted permits also store it. */
  readonly config?: Rate | undefined
  /** The binary layout of entries. It must match the Redisson version of the Java services. Default: `"Bc0I"`. */
  readonly layout?: "Bc0I" | "Lc0I" | undefined
  /** How long a call that certainly did not run is retried. 0 turns retries off. Default: `"1s"`. */
  readonly retryFor?: Duration | undefined
}

export interface WaitOptions {
  /** Aborting it rejects the wait with its reason. */
  readonly signal?: AbortSignal | undefined
}

export interface TryAcquireOptions extends WaitOptions {
  /** The longest wait for permits. Default: 0. */
  readonly timeout?: Duration | undefined
}

export interface SetRateOptions {
  /** Whether permits given before still count. A change of type always drops them. Default: true. */
  readonly keepState?: boolean | undefined
}

/** Shares a limit with Redisson's `RRateLimiter` of the same name. */
export interface RedissonRateLimiter extends AsyncDisposable {
  readonly name: string
  /** Sets the rate if none is set. Resolves to whether it did. */
  trySetRate(type: RateType, rate: number, interval: Duration, keepAliveTime?: Duration): Promise<boolean>
  /** Sets the rate, and replaces one that is set already. */
  setRate(
    type: RateType,
    rate: number,
    interval: Duration,
    keepAliveTime?: Duration,
    options?: SetRateOptions,
  ): Promise<void>
  /** The rate stored in Redis. Undefined if none is set. */
  getConfig(): Promise<RateConfig | undefined>
  /** Takes permits if they are free now or can be within the timeout. Otherwise it is denied without a wait. */
  tryAcquire(permits?: number, timeout?: Duration | TryAcquireOptions): Promise<PermitDecision>
  /** Takes permits, and waits for them as long as it takes. */
  acquire(permits?: number, options?: WaitOptions): Promise<PermitDecision>
  /** How many permits are free. Writes nothing. */
  availablePermits(): Promise<number>
  /** Deletes the rate and all permits given. Resolves to whether anything was stored. */
  delete(): Promise<boolean>
  /** Closes the limiter and rejects all waiters with `CLOSED`. The Redis client stays open. */
  close(): Promise<void>
}

const MAX_PERMITS = 2 ** 32 - 1
const MAX_WAITERS = 10_000

/** Opens the limiter that Java services call `redisson.getRateLimiter(name)`. */
export function redissonRateLimiter(
  client: RedisClient,
  name: string,
  options: RedissonRateLimiterOptions = {},
): RedissonRateLimiter {
  const { keys, route, layout, initial } = settings(client, name, options)
  let closed: SluiceError | undefined

  const run = <T>(script: keyof typeof scripts, args: readonly string[], read: (reply: unknown) => T) => {
    if (closed !== undefined) throw closed
    return send(route, { script: scripts[script], keys, args }, read)
  }
  const permitScripts: PermitScripts = {
    acquire: (requests) =>
      run(
        "acquire",
        [...initial, layout, ...encodePermitRequests(requests)],
        readGrants(shown(name), requests[0] as PermitRequest),
      ),
    async giveBack(requests) {
      const args = [layout, ...encodePermitRequests(requests)]
      await send(route, { script: scripts.giveBack, keys, args }, integer).catch(() => {})
    },
  }
  const waiters = new Waiters(permitScripts)

  const requestNow = async (request: PermitRequest) => {
    const grants = await permitScripts.acquire([request])
    return grants.granted === 1 ? passed(grants, grants.free) : denied(grants, grants.wait)
  }
  const wait = async (permits: number, timeout: number, signal: AbortSignal | undefined) => {
    if (closed !== undefined) throw closed
    checkSignal(signal)
    const request = permitRequest(permits)
    const full = waiters.size >= MAX_WAITERS
    if (full && timeout === Number.POSITIVE_INFINITY) {
      throw new SluiceError(
        "QUEUE_FULL",
        `queue full: ${MAX_WAITERS} requests wait in limiter ${shown(name)}. Retry later, or shed the work`,
      )
    }
    if (full || timeout === 0) return requestNow(request)
    if (waiters.exceeds(permits)) {
      // Probably more than the rate, which throws. Such a request should not wait in the queue for its error.
      const decision = await requestNow(request)
      if (decision.allowed) return decision
    }
    return waiters.wait(request, timeout, signal)
  }
  const close = async () => {
    closed ??= new SluiceError(
      "CLOSED",
      `limiter ${shown(name)} is closed. Close it after the last call, or create another`,
    )
    waiters.close(closed)
  }

  return {
    name,
    async trySetRate(type, rate, interval, keepAliveTime) {
      const config = checkRate({ type, rate, interval, keepAliveTime })
      return (await run("setRate", [...encodeRate(config), "try"], integer)) === 1
    },
    async setRate(type, rate, interval, keepAliveTime, options = {}) {
      checkFields("INVALID_OPTION", "setRate", options, ["keepState"])
      const { keepState = true } = options
      if (typeof keepState !== "boolean") {
        throw new SluiceError("INVALID_OPTION", `keepState must be true or false, got ${shown(keepState)}`)
      }
      const config = checkRate({ type, rate, interval, keepAliveTime })
      await run("setRate", [...encodeRate(config), keepState ? "keep" : "reset"], integer)
      waiters.wake()
    },
    getConfig: async () => run("getConfig", [], decodeRate),
    async tryAcquire(permits = 1, timeout = 0) {
      const options = typeof timeout === "object" ? timeout : { timeout }
      checkFields("INVALID_OPTION", "tryAcquire", options, ["timeout", "signal"])
      const { timeout: most = 0, signal } = options
      return wait(permits, most === 0 ? 0 : milliseconds(most, "timeout", "INVALID_OPTION"), signal)
    },
    async acquire(permits = 1, options = {}) {
      checkFields("INVALID_OPTION", "acquire", options, ["signal"])
      return wait(permits, Number.POSITIVE_INFINITY, options.signal)
    },
    async availablePermits() {
      const free = await run("availablePermits", initial.slice(0, 3), integer)
      if (free < 0) throw notInitialized(shown(name))
      return free
    },
    async delete() {
      const found = await run("delete", [], integer)
      waiters.wake()
      return found > 0
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function settings(client: RedisClient, name: string, options: RedissonRateLimiterOptions) {
  checkFields("INVALID_OPTION", "redissonRateLimiter", options, ["clientId", "config", "layout", "retryFor"])
  const { clientId = processId(), config, layout = "Bc0I", retryFor = "1s" } = options
  if (typeof client?.run !== "function") {
    throw new SluiceError(
      "INVALID_OPTION",
      `redissonRateLimiter takes ioredis(client), nodeRedis(client) or glide(client), got ${shown(client)}`,
    )
  }
  for (const [field, value] of Object.entries({ name, clientId })) {
    if (typeof value !== "string" || value === "") {
      throw new SluiceError("INVALID_OPTION", `${field} must be a non-empty string, got ${shown(value)}`)
    }
  }
  if (layout !== "Bc0I" && layout !== "Lc0I") {
    throw new SluiceError("INVALID_OPTION", `layout must be "Bc0I" or "Lc0I", got ${shown(layout)}`)
  }
  const patience = retryFor === 0 ? 0 : milliseconds(retryFor, "retryFor", "INVALID_OPTION")
  return {
    keys: redissonKeys(name, clientId),
    route: { client, patience },
    layout,
    initial: encodeRate(config === undefined ? undefined : checkRate(config)),
  }
}

function permitRequest(permits: number): PermitRequest {
  if (!Number.isInteger(permits) || permits < 1 || permits > MAX_PERMITS) {
    throw new SluiceError(
      "INVALID_COST",
      `permits must be an integer from 1 to ${MAX_PERMITS}, got ${shown(permits)}`,
    )
  }
  return { permits, random: randomBytes(16).toString("hex") }
}
