/// <reference lib="esnext.disposable" preserve="true" />

import { randomBytes } from "node:crypto"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import type { RedisClient } from "../stores/redis/client.js"
import { checkSignal } from "../waiting/terms.js"
import { encodePermitAsks, integer, notInitialized, type PermitAsk, readGrants, send } from "./calls.js"
import { denied, type PermitDecision, passed } from "./decision.js"
import { processId, redissonKeys } from "./keys.js"
import { checkRate, decodeRate, encodeRate, type Rate, type RateConfig, type RateType } from "./rate.js"
import { scripts } from "./scripts.generated.js"
import { type Desk, Waiters } from "./waiters.js"

export interface RedissonRateLimiterOptions {
  /** Who this process is under the type `PER_CLIENT`; a random id of the process if left out. */
  readonly clientId?: string | undefined
  /** The rate to go by, and to set with the first permits, where nobody has set one or it has been forgotten. */
  readonly config?: Rate | undefined
  /** How entries are written, which must be how the Java services read them; `"Bc0I"` if left out. */
  readonly layout?: "Bc0I" | "Lc0I" | undefined
  /** How long a call that was certainly not executed is tried again; `"1s"` if left out, 0 for not at all. */
  readonly retryFor?: Duration | undefined
}

export interface WaitOptions {
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined
}

export interface TryAcquireOptions extends WaitOptions {
  /** How long to wait for permits at the most; 0 if left out. */
  readonly timeout?: Duration | undefined
}

export interface SetRateOptions {
  /** Whether permits that were given go on counting; true if left out. A change of type never keeps them. */
  readonly keepState?: boolean | undefined
}

/** Shares a limit with Redisson's `RRateLimiter` of the same name. */
export interface RedissonRateLimiter extends AsyncDisposable {
  readonly name: string
  /** Sets the rate if nobody has; whether it did. */
  trySetRate(type: RateType, rate: number, interval: Duration, keepAliveTime?: Duration): Promise<boolean>
  /** Sets the rate, whatever it was. */
  setRate(
    type: RateType,
    rate: number,
    interval: Duration,
    keepAliveTime?: Duration,
    options?: SetRateOptions,
  ): Promise<void>
  /** The rate that is set, if one is. */
  getConfig(): Promise<RateConfig | undefined>
  /** Takes permits if they are to be had, or can be within the timeout; waits only if so. */
  tryAcquire(permits?: number, timeout?: Duration | TryAcquireOptions): Promise<PermitDecision>
  /** Waits its turn for permits, for as long as it takes. */
  acquire(permits?: number, options?: WaitOptions): Promise<PermitDecision>
  /** How many permits are free; changes nothing. */
  availablePermits(): Promise<number>
  /** Forgets the rate and all permits given; whether there was anything. */
  delete(): Promise<boolean>
  /** Ends all waits with `CLOSED`, and the limiter; the client stays open. */
  close(): Promise<void>
}

const MOST_PERMITS = 2 ** 32 - 1
const MOST_WAITERS = 10_000

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
  const desk: Desk = {
    ask: (asks) =>
      run(
        "acquire",
        [...initial, layout, ...encodePermitAsks(asks)],
        readGrants(shown(name), asks[0] as PermitAsk),
      ),
    async giveBack(asks) {
      const args = [layout, ...encodePermitAsks(asks)]
      await send(route, { script: scripts.giveBack, keys, args }, integer).catch(() => {})
    },
  }
  const waiters = new Waiters(desk)

  const askNow = async (ask: PermitAsk) => {
    const grants = await desk.ask([ask])
    return grants.granted === 1 ? passed(grants, grants.free) : denied(grants, grants.wait)
  }
  const wait = async (permits: number, timeout: number, signal: AbortSignal | undefined) => {
    if (closed !== undefined) throw closed
    checkSignal(signal)
    const ask = permitAsk(permits)
    const full = waiters.size >= MOST_WAITERS
    if (full && timeout === Number.POSITIVE_INFINITY) {
      throw new SluiceError(
        "QUEUE_FULL",
        `${MOST_WAITERS} wait for limiter ${shown(name)} already; shed the work, or try it again later`,
      )
    }
    if (full || timeout === 0) return askNow(ask)
    if (waiters.exceeds(permits)) {
      // it most likely throws, and whoever asks for too much need not stand in the row for that
      const decision = await askNow(ask)
      if (decision.allowed) return decision
    }
    return waiters.wait(ask, timeout, signal)
  }
  const close = async () => {
    closed ??= new SluiceError(
      "CLOSED",
      `limiter ${shown(name)} is closed; close it after the last call, or create another`,
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
  if (typeof client?.runByHash !== "function" || typeof client.runByText !== "function") {
    throw new SluiceError(
      "INVALID_OPTION",
      `redissonRateLimiter takes ioredis(client), nodeRedis(client) or glide(client), got ${shown(client)}`,
    )
  }
  for (const [field, value] of Object.entries({ name, clientId })) {
    if (typeof value !== "string" || value === "") {
      throw new SluiceError(
        "INVALID_OPTION",
        `${field} must be a string that is not empty, got ${shown(value)}`,
      )
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

function permitAsk(permits: number): PermitAsk {
  if (!Number.isInteger(permits) || permits < 1 || permits > MOST_PERMITS) {
    throw new SluiceError(
      "INVALID_COST",
      `permits must be an integer from 1 to ${MOST_PERMITS}, got ${shown(permits)}`,
    )
  }
  return { permits, random: randomBytes(16).toString("hex") }
}
