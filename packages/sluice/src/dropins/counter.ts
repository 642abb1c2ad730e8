import { createLimiter } from "../create-limiter.js"
import type { Decision } from "../decision.js"
import { LONGEST_MS } from "../duration.js"
import { checkFields } from "../errors.js"
import { flatCopy } from "../flat-copy.js"
import { invalidOption } from "../http/invalid-option.js"
import type { OutageOptions } from "../layers/outage-options.js"
import type { Policies } from "../policies.js"
import { fixedWindow } from "../policy.js"
import { MOST_UNITS } from "../policy-fields.js"
import type { Store } from "../store.js"

/** A limit as every supported library configures it. Such a library is called a peer here. */
export interface Rule {
  /** How many hits pass in one window. */
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
}

/** The options of `sluiceStore` in every drop-in module. */
export interface SluiceStoreOptions {
  /** Where the counters live. Default: memory. */
  readonly store?: Store | undefined
  /** Separates these counters from others on the store. */
  readonly prefix?: string | undefined
  /**
   * Decides instead of a fixed window: a policy, or a function of the limit and window that the peer is configured with,
   * such as `({ limit, window }) => slidingWindow({ limit, window })`.
   */
  readonly policy?: Policies | ((rule: Rule) => Policies) | undefined
  /** What happens when the store fails. Default: an error after one second. */
  readonly outage?: OutageOptions | undefined
}

/** The result of one hit, in the form that the peers need. */
export interface Hit {
  readonly allowed: boolean
  /** Hits in the window with this one; `limit + 1` for a denied hit, which is not counted. */
  readonly used: number
  /** Milliseconds until this hit would pass. 0 if it passed. */
  readonly retryAfter: number
  /** Milliseconds until no hit counts any more. */
  readonly resetAfter: number
}

/** Counts hits on keys. The peer passes the rule with every hit. */
export interface Counter {
  hit(key: unknown, rule: Rule, cost?: number): Promise<Hit>
  /** Counts a hit that can be taken back. Taking it back has no effect after its window. */
  reserve(key: unknown, rule: Rule): Promise<{ readonly hit: Hit; takeBack(): Promise<unknown> }>
  /** Returns the hits so far and writes nothing. */
  look(key: unknown, rule: Rule): Promise<Hit>
  takeBack(key: unknown, rule: Rule): Promise<void>
  reset(key: unknown, rule: Rule): Promise<void>
  close(): Promise<void>
}

/** A limit that no key reaches. A window with it only counts. */
export const UNLIMITED = MOST_UNITS

/** For how many rules a counter caches the policies. */
const MAX_RULES = 1_000

export function checkStoreOptions(options: SluiceStoreOptions): void {
  checkFields("INVALID_OPTION", "sluiceStore", options, ["store", "prefix", "policy", "outage"])
  const { prefix } = options
  if (prefix === undefined || (typeof prefix === "string" && prefix !== "")) return
  throw invalidOption("prefix must be a non-empty string")
}

export function createCounter(name: string, options: SluiceStoreOptions): Counter {
  const { store, outage, policy } = options
  const missing = () => {
    throw invalidOption("a drop-in store passes the policy in every call")
  }
  const limiter = createLimiter<Policies>({ name, policy: missing, store, outage })
  const known = new Map<string, Policies>()

  const policyOf = ({ limit, window }: Rule): Policies => {
    if (policy !== undefined && typeof policy !== "function") return policy
    const id = `${limit} ${window}`
    const made = known.get(id) ?? (policy ?? fixedWindow)({ limit, window })
    if (known.size < MAX_RULES) known.set(id, made)
    return made
  }

  return {
    async hit(key, given, cost = 1) {
      const rule = whole(given)
      if (rule.limit < 1) return closed(rule)
      const policy = policyOf(rule)
      return hitOf(await limiter.tryAcquire(text(key), { policy, cost }), rule, 1)
    },
    async reserve(key, given) {
      const rule = whole(given)
      if (rule.limit < 1) return { hit: closed(rule), takeBack: async () => false }
      const policy = policyOf(rule)
      // What takes the hit back keeps the key.
      const { decision, cancel } = await limiter.reserve(flatCopy(text(key)), { policy, ttl: rule.window })
      return { hit: hitOf(decision, rule, 1), takeBack: cancel }
    },
    async look(key, given) {
      const rule = whole(given)
      if (rule.limit < 1) return { ...closed(rule), used: 0 }
      const decision = await limiter.peek(text(key), { policy: policyOf(rule) })
      const used = clamp(rule.limit - decision.remaining, 0, rule.limit)
      return { ...hitOf(decision, rule, 0), used }
    },
    async takeBack(key, given) {
      await limiter.refund(text(key), 1, { policy: policyOf(whole(given)) })
    },
    async reset(key, given) {
      await limiter.reset(text(key), {
        policy: policyOf(whole({ ...given, limit: Math.max(1, given.limit) })),
      })
    },
    close: () => limiter.close(),
  }
}

/** Seconds, rounded up, so that a client that waits for this long does not return too early. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1_000)
}

/** Rounds a rule to whole numbers, because peers accept any number. A limit of 2.5 lets 2 hits pass. */
function whole({ limit, window }: Rule): Rule {
  return {
    limit: Math.min(Math.floor(limit), MOST_UNITS),
    window: clamp(Math.ceil(window), 1, LONGEST_MS),
  }
}

/** A limit below 1 denies every hit, and no policy has such a limit. */
function closed({ window }: Rule): Hit {
  return { allowed: false, used: 1, retryAfter: window, resetAfter: window }
}

function hitOf(decision: Decision, { limit }: Rule, least: number): Hit {
  const { allowed, remaining, retryAfter, resetAfter } = decision
  return {
    allowed,
    used: allowed ? clamp(limit - remaining, least, limit) : limit + 1,
    // "Never" becomes ten years, because peers put these numbers into headers.
    retryAfter: Math.min(retryAfter, LONGEST_MS),
    resetAfter: Math.min(resetAfter, LONGEST_MS),
  }
}

/** Makes a valid key. Some peers use numbers as keys, or an empty string for an unknown client. */
function text(key: unknown): string {
  return String(key) || "(empty)"
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most))
}
