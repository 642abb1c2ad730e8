/// <reference lib="esnext.disposable" preserve="true" />

import { timersOf } from "../clock.js"
import { createLimiter } from "../create-limiter.js"
import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"
import { outageTerms } from "../layers/outage-terms.js"
import type { Limiter, LimiterOptions } from "../limiter.js"
import type { Policies } from "../policies.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { discard } from "./discard.js"
import { holdsOn, spread } from "./holds.js"
import { outgoing } from "./outgoing.js"
import { Sleepers } from "./sleepers.js"
import { told } from "./told.js"

/** What calls are held to: as for `createLimiter`. */
export type FetchLimits<P extends Policies> = Omit<LimiterOptions<P>, "lease">

export interface FetchOptions {
  /** What calls wait in line for: a name for all of them, or told from the request, which has no body; the host of its URL if left out. */
  readonly key?: string | ((request: Request) => string) | undefined
  /** How often a call is sent again that was answered with 429, or with 503; 2 if left out. */
  readonly retries?: number | undefined
  /** How long an answer can hold a key back at the most; `"1m"` if left out. */
  readonly maxHold?: Duration | undefined
  /** Sends the requests; the global `fetch` if left out. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** A `fetch` that waits its turn. */
export type LimitedFetch<P extends Policies = Policies> = typeof globalThis.fetch &
  AsyncDisposable & {
    /** What it takes its turns from. */
    readonly limiter: Limiter<P>
    /** Ends it and its waits; what was sent is answered still. A store it did not create stays open. */
    close(): Promise<void>
  }

/** RFC 9110, section 9.2.2: twice is as good as once. */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/** Milliseconds before the first retry of a call that was not told when, at the most; then twice as long each time. */
const FIRST_PAUSE = 1_000

/**
 * Creates a `fetch` that holds calls to a policy, by host, in all processes that share the store:
 * `limitedFetch({ name: "partner", policy: leakyBucket({ … }), store })`. When an answer says that nothing more is
 * wanted for a while, nobody calls that host until then.
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
  const sleepers = new Sleepers(timers, maxWaiters)
  // who cannot be told of a hold has none: it is no more than a courtesy to whom is called
  const open = { ...outageTerms(limits.outage), policy: "open" as const, onChange: () => {} }
  const holds = holdsOn(store.layers?.outage?.(store, open) ?? store, limiter.name, timers)
  let closed = false

  /** Waits until it may send: it has a turn, and the key is not held back. */
  const turn = async (key: string, signal: AbortSignal | undefined) => {
    for (;;) {
      for (let left = holds.known(key); left > 0; left = holds.known(key)) await sleep(left, signal)
      await limiter.acquire(key, { signal })
      if (holds.known(key) === 0 && (await holds.look(key)) === 0) return
    }
  }

  const sleep = async (ms: number, signal: AbortSignal | undefined) => {
    if (closed) throw closedError(limiter.name)
    await sleepers.sleep(ms, signal)
  }

  const call = async (...[input, init]: Parameters<typeof globalThis.fetch>) => {
    const { request, signal, resendable, send: sendOff } = outgoing(input, init)
    const key = keyOf(request)
    for (let retry = 0; ; retry += 1) {
      await turn(key, signal)
      const answer = await sendOff(send())
      const wait = told(answer)
      if (wait !== undefined && wait > 0) holds.hold(key, Math.min(wait, maxHold))
      const again =
        retry < retries && resendable && wasRefused(answer, request, wait) && (wait ?? 0) <= maxHold
      if (!again || closed || sleepers.isFull) return answer
      const stop = discard(answer)
      try {
        await sleep(wait ? spread(wait) : pause(retry, maxHold), signal)
      } finally {
        stop()
      }
    }
  }

  const close = async () => {
    closed = true
    sleepers.rouse(closedError(limiter.name))
    await Promise.all([limiter.close(), holds.settled()])
  }

  return Object.assign(call, { limiter, close, [Symbol.asyncDispose]: close })
}

/** Whether an answer says that the request was not processed: a 503 only says so if it tells when to come back. */
function wasRefused({ status }: Response, { method }: Request, wait: number | undefined): boolean {
  return status === 429 || (status === 503 && (wait !== undefined || idempotent.has(method)))
}

/** Milliseconds before a retry that was not told when: some part of the second half of a length that doubles. */
function pause(retry: number, longest: number): number {
  return Math.min(FIRST_PAUSE * 2 ** retry, longest) * (0.5 + Math.random() / 2)
}

function checked(options: FetchOptions) {
  checkFields("INVALID_OPTION", "limitedFetch", options, ["key", "retries", "maxHold", "fetch"])
  const { key = hostOf, retries = 2, maxHold = "1m", fetch } = options
  if (typeof key !== "function" && (typeof key !== "string" || key === "")) {
    throw new SluiceError(
      "INVALID_OPTION",
      `key must be a function or a string that is not empty, got ${shown(key)}`,
    )
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
    // not before it is needed: what measures calls often replaces the global one later
    send: () => fetch ?? globalThis.fetch,
  }
}

/** The host with its port; what has none has a scheme. */
function hostOf({ url }: Request): string {
  const { host, protocol } = new URL(url)
  return host || protocol
}

function closedError(name: string): SluiceError {
  return new SluiceError(
    "CLOSED",
    `limiter ${shown(name)} is closed; close it after the last call, or create another`,
  )
}
