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
interface Behind {
  /** Where state lives, and the way that its limiter has to it. */
  readonly ledger: Store
  readonly store: Store
  charges(): Charge[]
}

const behind = new WeakMap<Claim, Behind>()

/** Makes a claim. */
export function claimOn(limiter: string, key: string, what: Behind): Claim {
  const made = Object.freeze({ limiter, key })
  behind.set(made, what)
  return made
}

/**
 * Limits over different keys, an organisation's and a user's say, asked all or nothing: `combine([organisations.on(org),
 * users.on(user)])`. One step where the store can take one; in a Cluster, keys in different slots are spent one by one
 * and given back if not all of them pass. In an outage the first of the limiters decides.
 */
export function combine(claims: readonly Claim[]): Combined {
  if (!Array.isArray(claims) || claims.length === 0) {
    throw new SluiceError("INVALID_OPTION", `combine takes what limiter.on makes, got ${shown(claims)}`)
  }
  const all = claims.map((claim: Claim) => {
    const known = behind.get(claim)
    if (known !== undefined) return { ...claim, ...known }
    throw new SluiceError("INVALID_OPTION", `combine takes what limiter.on makes, got ${shown(claim)}`)
  })
  const [first] = all as [(typeof all)[0]]
  if (all.some(({ ledger }) => ledger !== first.ledger)) {
    throw new SluiceError("INVALID_OPTION", "the limiters that are combined must share a store")
  }
  const places = new Set(all.map(({ limiter, key }) => JSON.stringify([limiter, key])))
  if (places.size < all.length) {
    throw new SluiceError(
      "INVALID_OPTION",
      "the same limiter and key are combined twice; ask for the cost of both",
    )
  }

  const ask = async (mode: "spend" | "peek"): Promise<Decision> => {
    const parts = all.flatMap(({ limiter, charges }) =>
      charges().map((charge) => ({ ...charge, name: `${limiter}:${charge.name}` })),
    )
    return decide(parts, await first.store.ask({ parts, count: 1, mode }))
  }
  return { tryAcquire: () => ask("spend"), peek: () => ask("peek") }
}
