/// <reference lib="esnext.disposable" preserve="true" />

import { timersOf } from "../clock.js"
import { createLimiter } from "../create-limiter.js"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import { guard } from "../layers/compose.js"
import { outageSettings } from "../layers/outage-options.js"
import type { Limiter, LimiterOptions } from "../limiter.js"
import type { Policies } from "../policies.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { discard } from "./discard.js"
import { holdsOn, withJitter } from "./holds.js"
import { outgoing } from "./outgoing.js"
import { parseRetryAfter } from "./parse-retry-after.js"
import { Sleepers } from "./sleepers.js"

/** The limiter for the calls. Same options as `createLimiter`, without `lease`. */
export type FetchLimits<P extends Policies> = Pick<
  LimiterOptions<P>,
  "name" | "policy" | "store" | "outage" | "maxWait" | "maxWaiters"
>

export interface FetchOptions {
  /**
   * The key to limit by: one name for all calls, or a function of the request (without its body). Default: the host of the URL.
   * If the host limits each token or tenant, include the credential in the key. Otherwise one limited token pauses all others.
   */
  readonly key?: string | ((request: Request) => string) | undefined
  /** How often a call is retried after a response with status 429 or 503. Default: 2. */
  readonly retries?: number | undefined
  /** The longest time for which a response can pause a key. Default: `"1m"`. */
  readonly maxHold?: Duration | undefined
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** A `fetch` that waits for its rate limit before it sends. */
export type LimitedFetch<P extends Policies = Policies> = typeof globalThis.fetch &
  AsyncDisposable & {
    /** The limiter that schedules the calls. */
    readonly limiter: Limiter<P>
    /**
     * Stops further calls and rejects those that wait. Requests already sent still get their responses. A store that was
     * passed in stays open.
     */
    close(): Promise<void>
  }

/** Methods that are safe to repeat: RFC 9110, section 9.2.2. */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/** Longest backoff in milliseconds before the first retry, if the response names no time. It doubles with every retry. */
const FIRST_BACKOFF = 1_000

/**
 * Creates a `fetch` that limits calls per host, across all processes that share the store:
 * `limitedFetch({ name: "partner", policy: leakyBucket({ … }), store })`. When a response has `Retry-After` or
 * RateLimit headers that say to wait, every process pauses its calls to that host until then.
 */
export function limitedFetch<const P extends Policies>(
  limits: FetchLimits<P>,
  options: FetchOptions = {},
): LimitedFetch<P> {
  const { keyOf, retries, maxHold, send } = checked(options)
  checkFields("INVALID_OPTION", "limitedFetch", limits, [
    "name",
    "policy",
    "store",
    "outage",
    "maxWait",
    "maxWaiters",
  ])
  const { store = memoryStore(), maxWaiters = 10_000 } = limits
  const limiter = createLimiter<P>({ ...limits, store })
  const timers = timersOf(store.clock)
  const sleepers = new Sleepers(timers, maxWaiters, limiter.name)
  // Holds are a courtesy to the upstream. If the store fails, calls go on without them.
  const open = { ...outageSettings(limits.outage), policy: "open" as const, onChange: () => {} }
  const holds = holdsOn(guard(store, open), limiter.name, timers)
  let closed = false

  /** Waits until the limiter grants a turn and no hold is on the key. */
  const turn = async (key: string, signal: AbortSignal | undefined) => {
    for (;;) {
      for (let left = holds.known(key); left > 0; left = holds.known(key)) await sleep(key, left, signal)
      await limiter.acquire(key, { signal })
      if (holds.known(key) === 0 && (await holds.look(key)) === 0) return
    }
  }

  const sleep = async (key: string, ms: number, signal: AbortSignal | undefined) => {
    if (closed) throw closedError(limiter.name)
    await sleepers.sleep(key, ms, signal)
  }

  const call = async (...[input, init]: Parameters<typeof globalThis.fetch>) => {
    const { request, signal, resendable, send: sendOff } = outgoing(input, init)
    const key = keyOf(request)
    for (let retry = 0; ; retry += 1) {
      await turn(key, signal)
      const reply = await sendOff(send())
      const wait = parseRetryAfter(reply)
      if (wait !== undefined && wait > 0) {
        const answered = reply.redirected ? keyOfAnswer(keyOf, request, reply) : undefined
        holds.hold(answered ?? key, Math.min(wait, maxHold))
      }
      const again =
        retry < retries && resendable && wasRefused(reply, request, wait) && (wait ?? 0) <= maxHold
      if (!again || closed || !sleepers.hasRoom(key)) return reply
      const stop = discard(reply)
      try {
        await sleep(key, wait ? withJitter(wait) : backoff(retry, maxHold), signal)
      } finally {
        stop()
      }
    }
  }

  const close = async () => {
    closed = true
    sleepers.rejectAll(closedError(limiter.name))
    await Promise.all([limiter.close(), holds.settled()])
  }

  return Object.assign(call, { limiter, close, [Symbol.asyncDispose]: close })
}

/** The key for the host that answered after a redirect. Undefined if the key function throws or returns no key. */
function keyOfAnswer(
  keyOf: (request: Request) => string,
  request: Request,
  { url }: Response,
): string | undefined {
  try {
    const headers = new Headers(request.headers)
    // fetch drops this header when a redirect leaves the origin.
    if (new URL(url).origin !== new URL(request.url).origin) headers.delete("authorization")
    const key = keyOf(new Request(url, { method: request.method, headers }))
    return typeof key === "string" && key !== "" ? key : undefined
  } catch {
    return undefined
  }
}

/** Whether the call may be retried. A 503 may follow partial processing, so it must name a time or the method be idempotent. */
function wasRefused({ status }: Response, { method }: Request, wait: number | undefined): boolean {
  return status === 429 || (status === 503 && (wait !== undefined || idempotent.has(method)))
}

/** Backoff in milliseconds for a response that names no time: exponential, with random jitter of up to half. */
function backoff(retry: number, longest: number): number {
  return Math.min(FIRST_BACKOFF * 2 ** retry, longest) * (0.5 + Math.random() / 2)
}

function checked(options: FetchOptions) {
  checkFields("INVALID_OPTION", "limitedFetch", options, ["key", "retries", "maxHold", "fetch"])
  const { key = hostOf, retries = 2, maxHold = "1m", fetch } = options
  if (typeof key !== "function" && (typeof key !== "string" || key === "")) {
    throw new SluiceError("INVALID_OPTION", `key must be a function or a non-empty string, got ${shown(key)}`)
  }
  if (!Number.isInteger(retries) || retries < 0) {
    throw new SluiceError("INVALID_OPTION", `retries must be an integer, 0 or more, got ${shown(retries)}`)
  }
  if (fetch !== undefined && typeof fetch !== "function") {
    throw new SluiceError("INVALID_OPTION", `fetch must be a function, got ${shown(fetch)}`)
  }
  return {
    keyOf: typeof key === "string" ? () => key : key,
    retries,
    maxHold: milliseconds(maxHold, "maxHold", "INVALID_OPTION"),
    // Look up the global late: instrumentation often replaces it after start-up.
    send: () => fetch ?? globalThis.fetch,
  }
}

/** The host with its port. A URL without a host, such as `data:`, counts under its scheme. */
function hostOf({ url }: Request): string {
  const { host, protocol } = new URL(url)
  return host || protocol
}

function closedError(name: string): SluiceError {
  return new SluiceError(
    "CLOSED",
    `limiter ${shown(name)} is closed. Close it after the last call, or create another`,
  )
}
