import { countingOf } from "./algorithms/index.js"
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

/** A new id, which says what was reserved under each policy and how that counts, as a query string does: `tokens=500tb`. */
export function newReservation(charged: readonly Charge[]): string {
  const costs = charged.map((charge): [string, string] => [charge.name, `${charge.cost}${suffixOf(charge)}`])
  return `${crypto.randomUUID()}?${new URLSearchParams(costs)}`
}

function suffixOf({ policy }: Named[number] | Charge): string {
  return countingOf(policy).suffix
}

/** What settling a reservation at an actual cost takes. */
export function settlementOf(
  { id, limiter, key, maxWait }: { id: string; limiter: string; key: string; maxWait: number },
  named: Named,
  actual: unknown,
): Settlement {
  const reserved = reservedUnder(id)
  for (const [policy, { suffix }] of reserved) {
    if (named.some((own) => own.name === policy && suffixOf(own) === suffix)) continue
    // what it gave back would go nowhere, and what it charged to somebody else
    throw new SluiceError(
      "INVALID_OPTION",
      `this was reserved under another policy ${shown(policy)}; name it: reservation(key, id, { policy })`,
    )
  }
  const back: Charge[] = []
  const more: Charge[] = []
  for (const charge of allCharges(named, key, actual)) {
    const difference = charge.cost - (reserved.get(charge.name)?.cost ?? 0)
    if (difference < 0) back.push({ ...charge, cost: -difference })
    if (difference > 0) more.push({ ...charge, cost: difference })
  }
  return { place: placeOfReservation(limiter, key, id), back, more, maxWait }
}

/** What was reserved under each policy, by name, and how that counts. */
export function reservedUnder(id: unknown): Map<string, { cost: number; suffix: string }> {
  const text = typeof id === "string" ? /^[\da-f-]{36}\?(.+)$/.exec(id)?.[1] : undefined
  const costs = [...new URLSearchParams(text)].map(([name, value]) => {
    const [, cost, suffix = ""] = /^(\d+)(\D+)$/.exec(value) ?? []
    return [name, { cost: Number(cost), suffix }] as const
  })
  if (text === undefined || !costs.every(([, { cost }]) => Number.isSafeInteger(cost) && cost > 0)) {
    throw new SluiceError("INVALID_OPTION", `id must be that of a reservation, got ${shown(id)}`)
  }
  return new Map(costs)
}
