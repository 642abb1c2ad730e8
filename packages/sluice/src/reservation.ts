import { SluiceError, shown } from "./errors.js"
import { allCharges, type Charge, type Cost, type Named, type Policies } from "./policies.js"
import { type Place, scopeOf } from "./state-key.js"
import type { Settlement } from "./store.js"

/** What was reserved, to be settled once by whoever has its id. */
export interface Pending<P extends Policies = Policies> {
  /** Tells it from every other: with it and the key any process can settle it, by `limiter.reservation`. */
  readonly id: string
  /**
   * Says what it really cost: what was too much is given back, as far as it still counts; what was too little is
   * charged. False if it was settled before, or its time is over, and nothing has changed.
   */
  settle(actual: Cost<P>): Promise<boolean>
  /** Settles it at nothing. */
  cancel(): Promise<boolean>
}

/** The place where a reservation is noted. */
export function placeOfReservation(limiter: string, key: string, id: string): Place {
  return { scope: scopeOf(limiter, id), key }
}

/** A new id, which says what was reserved under each policy, as a query string does. */
export function newReservation(charged: readonly Charge[]): string {
  const costs = charged.map(({ name, cost }): [string, string] => [name, `${cost}`])
  return `${crypto.randomUUID()}?${new URLSearchParams(costs)}`
}

/** What settling a reservation at an actual cost takes. */
export function settlementOf(
  { id, limiter, key, maxWait }: { id: string; limiter: string; key: string; maxWait: number },
  named: Named,
  actual: unknown,
): Settlement {
  const reserved = reservedUnder(id)
  const back: Charge[] = []
  const more: Charge[] = []
  for (const charge of allCharges(named, key, actual)) {
    const difference = charge.cost - (reserved.get(charge.name) ?? 0)
    if (difference < 0) back.push({ ...charge, cost: -difference })
    if (difference > 0) more.push({ ...charge, cost: difference })
  }
  return { place: placeOfReservation(limiter, key, id), back, more, maxWait }
}

/** What was reserved under each policy, by name. */
export function reservedUnder(id: unknown): Map<string, number> {
  const text = typeof id === "string" ? /^[\da-f-]{36}\?(.+)$/.exec(id)?.[1] : undefined
  const costs = [...new URLSearchParams(text)].map(([name, cost]) => [name, Number(cost)] as const)
  if (text === undefined || !costs.every(([, cost]) => Number.isSafeInteger(cost) && cost > 0)) {
    throw new SluiceError("INVALID_OPTION", `id must be that of a reservation, got ${shown(id)}`)
  }
  return new Map(costs)
}
