import fc from "fast-check"
import { type Answer, type Part, type Policy, type Store, scopeOf } from "sluice"
import { isPromise } from "../../src/later.js"
import { denyCache } from "../../src/layers/deny-cache.js"
import { leases } from "../../src/layers/lease.js"
import type { LeaseTerms } from "../../src/layers/lease-terms.js"
import type { Leases } from "../../src/store.js"
import type { Grant } from "./bounds.js"
import { distantStore, type Errand } from "./distant-store.js"
import type { World } from "./world.js"

/** How long, in milliseconds, calls are on their way to the store, and answers back. */
export interface Trip {
  readonly there: number
  readonly back: number
}

/** Some asks of one process, one every `gap` milliseconds, and a pause after them. */
export interface Burst {
  readonly process: number
  readonly asks: number
  readonly gap: number
  readonly cost: number
  readonly pause: number
}

export const trips = fc.array(
  fc.record<Trip>({
    there: fc.constantFrom(0, 0, 1, 1, 2, 5, 30),
    back: fc.constantFrom(0, 0, 1, 1, 2, 5, 30),
  }),
  { minLength: 1, maxLength: 20 },
)

export const bursts = fc.array(
  fc.record<Burst>({
    process: fc.integer({ min: 0, max: 3 }),
    asks: fc.constantFrom(1, 5, 20, 60),
    gap: fc.constantFrom(0, 0, 0, 1, 5),
    cost: fc.constantFrom(1, 1, 1, 2, 5),
    pause: fc.constantFrom(0, 1, 10, 40, 60, 110, 160, 400),
  }),
  { minLength: 3, maxLength: 25, size: "max" },
)

/** Processes that lease from one ledger, and the accounts of what they do. */
export interface Leaseholders {
  readonly holders: readonly Leases[]
  /** What was admitted: from a lease when it was asked for, else when the store decided. */
  readonly grants: Grant[]
  /** Units by the moment of their debit: taken from the ledger, and of those given back. */
  readonly debits: Map<number, { taken: number; given: number }>
  /** Units that were taken from the ledger, and neither admitted nor given back yet. */
  readonly held: number
  /** The most of them there ever were, and for how many microseconds any of those that were given back. */
  readonly mostHeld: number
  readonly longestHeld: number
  /** How many asks were admitted from leases. */
  readonly leased: number
  play(bursts: readonly Burst[]): Promise<void>
  ask(process: number, cost: number): void
  close(): Promise<void>
}

export function leaseholders(
  { clock, after, pass }: World,
  ledger: Store,
  policy: Policy,
  terms: LeaseTerms,
  delays: readonly Trip[],
): Leaseholders {
  const scope = scopeOf("leased", "default")
  const grants: Grant[] = []
  const debits: Leaseholders["debits"] = new Map()
  let admitted = 0
  let leased = 0
  let mostHeld = 0
  let longestHeld = 0
  let sent = 0

  const account = (at: number) => {
    const known = debits.get(at) ?? { taken: 0, given: 0 }
    debits.set(at, known)
    return known
  }
  const audited: Store = {
    ...ledger,
    ask(ask) {
      const answer = ledger.ask(ask) as Answer
      const [{ cost }] = ask.parts as [Part]
      if (ask.mode === "spend") account(answer.at).taken += answer.granted * cost
      return answer
    },
    giveBack(parts, at) {
      for (const { cost } of parts) account(at as number).given += cost
      longestHeld = Math.max(longestHeld, Math.round(clock() * 1_000) - (at as number))
      return ledger.giveBack(parts, at)
    },
  }
  const route = (errand: Errand) => {
    const { there, back } = delays[sent++ % delays.length] as Trip
    after(there, () => {
      errand.decide()
      after(back, errand.answer)
    })
  }
  const holders = Array.from({ length: 4 }, () =>
    leases(denyCache(distantStore(clock, route, audited)), terms),
  )

  const ask = (process: number, cost: number) => {
    const note = ({ granted, at, source }: Answer, now: number) => {
      if (granted === 0) return
      admitted += cost
      if (source === "lease") leased += 1
      grants.push({ at: source === "lease" ? Math.round(now * 1_000) : at, units: cost })
    }
    const now = clock()
    const parts = [{ scope, key: "k", policy, cost }]
    const answer = (holders[process % holders.length] as Leases).ask({ parts, count: 1, mode: "spend" })
    if (isPromise(answer)) answer.then((told) => note(told, now))
    else note(answer, now)
  }

  const held = () => {
    let units = -admitted
    for (const { taken, given } of debits.values()) units += taken - given
    mostHeld = Math.max(mostHeld, units)
    return units
  }

  return {
    holders,
    grants,
    debits,
    get held() {
      return held()
    },
    get mostHeld() {
      return mostHeld
    },
    get longestHeld() {
      return longestHeld
    },
    get leased() {
      return leased
    },
    ask,
    async play(bursts) {
      for (const { process, asks, gap, cost, pause } of bursts) {
        for (let i = 0; i < asks; i += 1) {
          ask(process, cost)
          if (gap > 0) await pass(gap)
        }
        await pass(0)
        held()
        await pass(pause)
      }
      await pass(100)
    },
    async close() {
      const closed = Promise.all(holders.map((holder) => holder.close()))
      await pass(200)
      await closed
      grants.sort((a, b) => a.at - b.at)
    },
  }
}
