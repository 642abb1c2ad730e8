import { shown } from "../errors.js"
import { invalidOption } from "../http/invalid-option.js"
import {
  type Counter,
  checkStoreOptions,
  createCounter,
  type Hit,
  type Rule,
  type SluiceStoreOptions,
  UNLIMITED,
} from "./counter.js"
import { Reserved } from "./reserved.js"

export type { Rule, SluiceStoreOptions } from "./counter.js"

/** The options of the peer that the store reads. */
export interface LimiterOptions {
  readonly windowMs: number
  /** A number, or a function of the request. The peer calls the function after it has counted the hit. */
  readonly limit: unknown
  readonly skipFailedRequests?: boolean
  readonly skipSuccessfulRequests?: boolean
  readonly statusCode?: number
}

export interface ClientInfo {
  totalHits: number
  resetTime: Date
}

interface Ready {
  readonly counter: Counter
  readonly name: string
  readonly rule: Rule
  /** Hits that `decrement` can take back. Undefined if the peer never calls it. */
  readonly reserved: Reserved | undefined
}

/** The `store` of express-rate-limit 8 and of hono-rate-limiter. The peers print the name of the class. */
export class SluiceStore {
  readonly localKeys: boolean
  readonly #options: SluiceStoreOptions
  #ready: Ready | undefined
  #refusal: Error | undefined

  constructor(options: SluiceStoreOptions) {
    this.#options = options
    this.localKeys = options.store === undefined
  }

  /** Separates these counters from others on the store. By default it is derived from the limit and the window. */
  get prefix(): string {
    return this.#ready?.name ?? this.#options.prefix ?? "express-rate-limit"
  }

  init(options: LimiterOptions): void {
    const { policy, prefix } = this.#options
    const { windowMs, limit } = options
    const dynamic = typeof limit !== "number"
    if (dynamic && policy !== undefined) {
      // The peer only logs an error of `init`, so every request reports it.
      this.#refusal = invalidOption(
        `with a policy, limit must be a number, got ${shown(limit)}. The peer calls a function only after the policy has decided`,
      )
      throw this.#refusal
    }
    const name = prefix ?? `express-rate-limit:${dynamic ? "" : limit}-in-${windowMs}`
    const takesBack = options.skipFailedRequests === true || options.skipSuccessfulRequests === true
    // With a policy, a denial is not counted, and a custom `handler` of the peer may answer it with any status.
    const denialsTakenBack =
      policy !== undefined || options.skipFailedRequests === true || (options.statusCode ?? 429) < 400
    // If the limit is unknown or hits can be taken back, count every hit, as the peer's own stores do.
    const counting = dynamic || (takesBack && policy === undefined)
    this.#ready = {
      name,
      counter: createCounter(name, this.#options),
      rule: { limit: counting ? UNLIMITED : limit, window: windowMs },
      reserved: takesBack ? new Reserved(denialsTakenBack) : undefined,
    }
  }

  async get(key: string): Promise<ClientInfo | undefined> {
    const { counter, rule } = this.#started()
    const { used, resetAfter } = await counter.look(key, rule)
    return used === 0 ? undefined : { totalHits: used, resetTime: after(resetAfter) }
  }

  async increment(key: string): Promise<ClientInfo> {
    const { counter, rule, reserved } = this.#started()
    if (reserved === undefined) return infoOf(await counter.hit(key, rule))
    const { hit, takeBack } = await counter.reserve(key, rule)
    reserved.add(key, hit, takeBack)
    return infoOf(hit)
  }

  async decrement(key: string): Promise<void> {
    await this.#started().reserved?.takeBack(key)
  }

  async resetKey(key: string): Promise<void> {
    const { counter, rule, reserved } = this.#started()
    reserved?.forget(key)
    await counter.reset(key, rule)
  }

  async shutdown(): Promise<void> {
    await this.#ready?.counter.close()
  }

  #started(): Ready {
    if (this.#ready !== undefined) return this.#ready
    throw this.#refusal ?? invalidOption("pass sluiceStore to a rate limiter as its store before it counts")
  }
}

/** A store for express-rate-limit and hono-rate-limiter: `rateLimit({ windowMs, limit, store: sluiceStore({ store }) })`. */
export function sluiceStore(options: SluiceStoreOptions = {}): SluiceStore {
  checkStoreOptions(options)
  return new SluiceStore(options)
}

function infoOf({ allowed, used, retryAfter, resetAfter }: Hit): ClientInfo {
  // The peer computes Retry-After from the reset time.
  return { totalHits: used, resetTime: after(allowed ? resetAfter : retryAfter) }
}

function after(ms: number): Date {
  return new Date(Date.now() + ms)
}
