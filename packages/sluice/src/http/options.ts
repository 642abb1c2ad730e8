import type { Decision } from "../decision.js"
import type { Duration } from "../duration.js"
import { milliseconds } from "../duration.js"
import { checkFields, shown } from "../errors.js"
import type { OutageOptions } from "../layers/outage-options.js"
import type { Limiter } from "../limiter.js"
import type { Cost, Policies } from "../policies.js"
import type { Store } from "../store.js"
import type { CustomDenial, Denial } from "./denial.js"
import type { HeaderForm, HeaderOptions } from "./headers.js"
import { invalidOption } from "./invalid-option.js"
import type { HttpRequest } from "./request.js"

/** A value, or a function of the request. `R` is the framework's own request. */
export type PerRequest<T, R> = T | ((request: R, http: HttpRequest) => T | PromiseLike<T>)

/** Which requests count. A failure is a status of 400 or more, an error in the handler, or an aborted response. */
export type Count = "all" | "failures" | "successes"

/** The options of `rateLimit` in every framework module. */
export interface RateLimitOptions<R> {
  /** A limiter, or a function of the request. Leave it out to give `policy`, `store` and `name` here. */
  readonly limiter?: PerRequest<Limiter<never> | Limiter, R> | undefined
  /** The limit for each key. With `limiter`, it replaces the limiter's policy for the request. */
  readonly policy?: PerRequest<Policies, R> | undefined
  /** Where the state lives. Default: memory. */
  readonly store?: Store | undefined
  /** Separates these counters from others on the store. By default it is derived from the values of `policy`. */
  readonly name?: string | undefined
  /** What happens when the store fails. Default: 503. */
  readonly outage?: OutageOptions | undefined
  /** Returns the key to limit by. Default: `clientKey()`, the address of the socket. */
  readonly key?: ((request: R, http: HttpRequest) => string | PromiseLike<string>) | undefined
  /** The cost of the request. Default: 1. A cost of 0 skips the limiter. */
  readonly cost?: PerRequest<Cost<Policies>, R> | undefined
  /** Lets a request pass without counting it. */
  readonly skip?: ((request: R, http: HttpRequest) => boolean | PromiseLike<boolean>) | undefined
  /** Which headers describe the limit; `false` for none. Default: `"draft-11"`. */
  readonly headers?: false | HeaderForm | HeaderOptions | undefined
  /** Which requests count. Any value but `"all"` costs a second call to the store per request. Default: `"all"`. */
  readonly count?: Count | undefined
  /** How long a request may wait for its turn instead of being denied. Default: 0. */
  readonly wait?: Duration | undefined
  /** Changes the response to a denied request. */
  readonly onDenied?:
    | ((request: R, denial: Denial) => CustomDenial | undefined | PromiseLike<CustomDenial | undefined>)
    | undefined
  /** Receives errors of the store that no caller sees. */
  readonly onError?: ((error: unknown, request: R) => void) | undefined
}

/** The outcome for one request: its decision, and everything a framework needs to respond. */
export interface Judgement {
  /** Undefined when the request was skipped or could not be decided. */
  readonly decision: Decision | undefined
  /** The headers to set on the handler's response. */
  readonly headers: Readonly<Record<string, string>>
  /** The response to send instead of calling the handler. */
  readonly denial: Denial | undefined
  /** Call it with the status once the response has ended, or with `"aborted"`. Set only where `count` needs it. */
  readonly finish: ((outcome: number | "aborted") => Promise<void>) | undefined
}

const fields = [
  ...["limiter", "policy", "store", "name", "outage", "key", "cost", "skip"],
  ...["headers", "count", "wait", "onDenied", "onError"],
]

/** Checks the options that are not checked where they are used. Returns `wait` in milliseconds. */
export function checkOptions(options: RateLimitOptions<never>): number {
  checkFields("INVALID_OPTION", "rateLimit", options, fields)
  const { count = "all", wait = 0 } = options
  if (count !== "all" && count !== "failures" && count !== "successes") {
    throw invalidOption(`count must be "all", "failures" or "successes", got ${shown(count)}`)
  }
  for (const name of ["key", "skip", "onDenied", "onError"] as const) {
    const value: unknown = options[name]
    if (value === undefined || typeof value === "function") continue
    throw invalidOption(`${name} must be a function, got ${shown(value)}`)
  }
  if (wait === 0) return 0
  if (count !== "all") throw invalidOption(`wait cannot be combined with count: ${shown(count)}`)
  return milliseconds(wait, "wait", "INVALID_OPTION")
}
