import { type Decision, decide } from "./decision.js"
import { SluiceError, shown } from "./errors.js"
import type { Charge } from "./policies.js"
import type { Store } from "./store.js"

/** An ask of one limiter for one key, to be combined with others: made by `limiter.on`. */
export interface Claim {
  readonly limiter: string
  readonly key: string
}

/** Several limits that are asked as one. */
export interface Combined {
  /** Spends in all of them, or in none. */
  tryAcquire(): Promise<Decision>
  /** Says what `tryAcquire` would say, and changes nothing. */
  peek(): Promise<Decision>
}

/** What is behind a claim. */
interface Behind extends Claim {
  /** Where state lives, and the way that its limiter has to it. */
  readonly ledger: Store
  readonly store: Store
  readonly charges: () => Charge[]
}

/** A claim that was made here: there are some for every request, and a WeakMap of them takes longer than all else. */
class Made implements Claim {
  readonly limiter: string
  readonly key: string
  readonly #behind: Behind

  constructor(behind: Behind) {
    this.limiter = behind.limiter
    this.key = behind.key
    this.#behind = behind
  }

  static behind(claim: unknown): Behind {
    if (typeof claim === "object" && claim !== null && #behind in claim) return claim.#behind
    throw new SluiceError("INVALID_OPTION", `combine takes what limiter.on makes, got ${shown(claim)}`)
  }
}

/** Makes a claim. */
export function claimOn(behind: Behind): Claim {
  return new Made(behind)
}

/** A store may have to decide on all of them in one step, in which it does nothing else. */
const MOST_CLAIMS = 64

/**
 * Limits over different keys, an organisation's and a user's say, asked all or nothing: `combine([organisations.on(org),
 * users.on(user)])`. One step where the store can take one; in a Cluster, keys in different slots are spent one by one
 * and given back if not all of them pass. In an outage the first of the limiters decides. It takes up to 64 claims.
 */
export function combine(claims: readonly Claim[]): Combined {
  if (!Array.isArray(claims) || claims.length === 0) {
    throw new SluiceError("INVALID_OPTION", `combine takes what limiter.on makes, got ${shown(claims)}`)
  }
  if (claims.length > MOST_CLAIMS) {
    throw new SluiceError(
      "INVALID_OPTION",
      `combine takes at most ${MOST_CLAIMS} claims, got ${claims.length}`,
    )
  }
  const all = claims.map(Made.behind)
  const [first] = all as [Behind]
  if (all.some(({ ledger }) => ledger !== first.ledger)) {
    throw new SluiceError("INVALID_OPTION", "the limiters that are combined must share a store")
  }
  refuseTwice(all)

  const ask = async (mode: "spend" | "peek"): Promise<Decision> => {
    const parts: Charge[] = []
    for (const { limiter, charges } of all) {
      for (const { name, scope, key, policy, cost } of charges()) {
        parts.push({ name: `${limiter}:${name}`, scope, key, policy, cost })
      }
    }
    return decide(parts, await first.store.ask({ parts, count: 1, mode }))
  }
  return { tryAcquire: () => ask("spend"), peek: () => ask("peek") }
}

function refuseTwice(claims: readonly Claim[]): void {
  const places = new Set(claims.map(({ limiter, key }) => `${limiter.length}:${limiter}${key}`))
  if (places.size === claims.length) return
  throw new SluiceError(
    "INVALID_OPTION",
    "the same limiter and key are combined twice; ask for the cost of both",
  )
}
