import { LONGEST_MS } from "../duration.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import {
  type Counter,
  checkStoreOptions,
  createCounter,
  type Rule,
  type SluiceStoreOptions,
  UNLIMITED,
} from "./counter.js"

export type { Rule, SluiceStoreOptions } from "./counter.js"

/** The result of a hit, for @fastify/rate-limit. It denies hits above `max`. */
export interface Count {
  current: number
  /** Milliseconds. */
  ttl: number
}

type Callback = (error: Error | null, count?: Count) => void

/** The options of the plugin, or of a route, that the store reads. */
export interface StoreParams {
  readonly ban?: number
  readonly continueExceeding?: boolean
  readonly exponentialBackoff?: boolean
  readonly groupId?: string
  readonly routeInfo?: { readonly method?: unknown; readonly url?: unknown }
}

/** A store as @fastify/rate-limit 11 creates it: one for the plugin, and a child per route. */
export interface SluiceStore {
  incr(key: string, callback: Callback, timeWindow: number, max: number): void
  read(key: string, callback: Callback, timeWindow: number, max: number): void
  child(params: object): SluiceStore
}

/** A store for @fastify/rate-limit: `app.register(rateLimit, { max, timeWindow, store: sluiceStore({ store }) })`. */
export function sluiceStore(options: SluiceStoreOptions = {}): new (params: object) => SluiceStore {
  checkStoreOptions(options)
  const { prefix = "fastify-rate-limit" } = options
  return class {
    declare readonly incr: SluiceStore["incr"]
    declare readonly read: SluiceStore["read"]
    declare readonly child: SluiceStore["child"]

    constructor(params: StoreParams) {
      const store = options.store ?? memoryStore()
      Object.assign(this, storeOf(prefix, { ...options, store }, params))
    }
  }
}

function storeOf(name: string, options: SluiceStoreOptions, params: StoreParams): SluiceStore {
  const { incr, read } = countingOf(name, options, params)
  let children = 0
  return {
    incr: (key, callback, window, max) => answer(incr(key, { limit: max, window }), callback),
    read: (key, callback, window, max) => answer(read(key, { limit: max, window }), callback),
    child(own: StoreParams) {
      children += 1
      return storeOf(`${name}:${childName(own, children)}`, options, own)
    },
  }
}

/** Routes in one group share their counters. `createRateLimit` has no route, so it gets a number. */
function childName({ groupId, routeInfo = {} }: StoreParams, number: number): string {
  if (groupId !== undefined) return `group:${groupId}`
  const { method, url } = routeInfo
  return url === undefined ? `#${number}` : `${method}${url}`
}

interface Counting {
  incr(key: string, rule: Rule): Promise<Count>
  read(key: string, rule: Rule): Promise<Count>
}

function countingOf(name: string, options: SluiceStoreOptions, params: StoreParams): Counting {
  const hits = createCounter(name, options)
  const { ban = -1, continueExceeding, exponentialBackoff } = params
  const penalties = () => createCounter(`${name}:denied`, { ...options, policy: undefined })
  if (continueExceeding) return withPenalty(hits, penalties(), ({ window }) => window)
  if (exponentialBackoff) {
    return withPenalty(hits, penalties(), ({ window }, nth) => Math.min(window * 2 ** (nth - 1), LONGEST_MS))
  }
  if (ban < 0) return plain(hits)
  return options.policy === undefined ? everyHit(hits) : withBan(hits, penalties())
}

/** Counts allowed hits only. */
function plain(hits: Counter): Counting {
  return {
    async incr(key, rule) {
      const { allowed, used, retryAfter, resetAfter } = await hits.hit(key, rule)
      return { current: used, ttl: allowed ? resetAfter : retryAfter }
    },
    async read(key, rule) {
      const { used, resetAfter } = await hits.look(key, rule)
      return { current: used, ttl: resetAfter }
    },
  }
}

/** For `ban` without a policy: counts denied hits too, because `ban` compares the number of all hits. */
function everyHit(hits: Counter): Counting {
  const { incr, read } = plain(hits)
  return {
    incr: (key, { window }) => incr(key, { limit: UNLIMITED, window }),
    read: (key, { window }) => read(key, { limit: UNLIMITED, window }),
  }
}

/** For `ban` with a policy: the policy decides, and a second window counts the denied hits. */
function withBan(hits: Counter, denied: Counter): Counting {
  return {
    async incr(key, rule) {
      const hit = await hits.hit(key, rule)
      if (hit.allowed) return { current: hit.used, ttl: hit.resetAfter }
      const { used } = await denied.hit(key, { ...rule, limit: UNLIMITED })
      return { current: rule.limit + used, ttl: hit.retryAfter }
    },
    read: plain(hits).read,
  }
}

/** Every denied hit restarts a penalty. A second counter holds the number of hits denied in a row. */
function withPenalty(
  hits: Counter,
  penalties: Counter,
  lengthOf: (rule: Rule, nth: number) => number,
): Counting {
  return {
    async incr(key, rule) {
      const before = await penalties.look(key, { ...rule, limit: UNLIMITED })
      if (before.used === 0) {
        const hit = await hits.hit(key, rule)
        if (hit.allowed) return { current: hit.used, ttl: hit.resetAfter }
      }
      const nth = before.used + 1
      const window = lengthOf(rule, nth)
      const penalty = { limit: UNLIMITED, window }
      // Parallel hits may both restart the penalty. That makes it longer, but lets no hit pass.
      await penalties.reset(key, penalty)
      await penalties.hit(key, penalty, nth)
      return { current: rule.limit + nth, ttl: window }
    },
    async read(key, rule) {
      const penalty = await penalties.look(key, { ...rule, limit: UNLIMITED })
      if (penalty.used > 0) return { current: rule.limit + penalty.used, ttl: penalty.resetAfter }
      return plain(hits).read(key, rule)
    },
  }
}

function answer(count: Promise<Count>, callback: Callback): void {
  count.then(
    (found) => callback(null, found),
    (error) => callback(error),
  )
}
