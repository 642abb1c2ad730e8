import fc from "fast-check"
import type { Policy, Store } from "sluice"
import { type PolicyRequest, policyRef, type StoreReply } from "sluice/store"
import { isPromise } from "../../src/deferred.js"
import { denyCache } from "../../src/layers/deny-cache.js"
import { type Leases, leases } from "../../src/layers/lease.js"
import type { LeaseSettings } from "../../src/layers/lease-options.js"
import type { Grant } from "./bounds.js"
import { distantStore, type Errand } from "./distant-store.js"
import type { World } from "./world.js"

/** The delay in milliseconds of calls to the store and of replies. */
export interface Trip {
  readonly there: number
  readonly back: number
}

/** Some requests of one process, one every `gap` milliseconds, then a pause. */
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

/** Processes with leases of one base store, and a record of their actions. */
export interface Leaseholders {
  readonly holders: readonly Leases[]
  /** The admitted requests. The time is that of the request for a lease, otherwise that of the store's decision. */
  readonly grants: Grant[]
  /** Units by the time of their debit: taken from the base store, and given back. */
  readonly debits: Map<number, { taken: number; given: number }>
  /** Units taken from the base store, and neither admitted nor given back yet. */
  readonly held: number
  /** The most such units at any time, and the longest time in microseconds that units given back were held. */
  readonly mostHeld: number
  readonly longestHeld: number
  /** How many requests were admitted from leases. */
  readonly leased: number
  play(bursts: readonly Burst[]): Promise<void>
  ask(process: number, cost: number): void
  close(): Promise<void>
}

export function leaseholders(
  { clock, after, pass }: World,
  baseStore: Store,
  policy: Policy,
  terms: LeaseSettings,
  delays: readonly Trip[],
): Leaseholders {
  const ref = policyRef("leased", "default")
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
    ...baseStore,
    decide(request) {
      const reply = baseStore.decide(request) as StoreReply
      const [{ cost }] = request.policies as [PolicyRequest]
      if (request.mode === "spend") account(reply.at).taken += reply.granted * cost
      return reply
    },
    giveBack(policies, at) {
      for (const { cost } of policies) account(at as number).given += cost
      longestHeld = Math.max(longestHeld, Math.round(clock() * 1_000) - (at as number))
      return baseStore.giveBack(policies, at)
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
    const note = ({ granted, at, source }: StoreReply, now: number) => {
      if (granted === 0) return
      admitted += cost
      if (source === "lease") leased += 1
      grants.push({ at: source === "lease" ? Math.round(now * 1_000) : at, units: cost })
    }
    const now = clock()
    const policies = [{ ref: ref, key: "k", policy, cost }]
    const reply = (holders[process % holders.length] as Leases).decide({ policies, count: 1, mode: "spend" })
    if (isPromise(reply)) reply.then((told) => note(told, now))
    else note(reply, now)
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
      for (const { process, asks: requests, gap, cost, pause } of bursts) {
        for (let i = 0; i < requests; i += 1) {
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
