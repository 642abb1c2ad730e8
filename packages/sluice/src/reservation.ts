import { countingOf } from "./algorithms/index.js"
import { SluiceError, shown } from "./errors.js"
import { type Amount, type Charge, type Named, type Policies, settled } from "./policies.js"
import { policyRef, type StateRef } from "./state-key.js"
import type { Settlement } from "./store.js"

/** A reservation that anyone with its id can settle once. */
export interface Pending<P extends Policies = Policies> {
  /** With this id and the key, any process can settle the reservation: `limiter.reservation(key, id)`. */
  readonly id: string
  /**
   * States the actual cost. If it is lower than the estimate, the difference is given back, as far as it still counts. If it is
   * higher, the difference is charged. A policy that is not named stays as reserved. Resolves to false, without any effect, if
   * the reservation was settled before or has expired.
   */
  settle(actual: Amount<P>): Promise<boolean>
  /** Settles it at a cost of 0. */
  cancel(): Promise<boolean>
}

/** The state that holds the note of a reservation. */
export function placeOfReservation(limiter: string, key: string, id: string): StateRef {
  return { ref: policyRef(limiter, id), key }
}

/** A new id. It contains the cost and the algorithm of each policy, like a query string: `tokens=500tb`. */
export function newReservation(charged: readonly Charge[]): string {
  const costs = charged.map((charge): [string, string] => [charge.name, `${charge.cost}${suffixOf(charge)}`])
  return `${randomId()}?${new URLSearchParams(costs)}`
}

/** 32 random hex digits. Not from randomUUID, which browsers have on secure pages only. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
}

function suffixOf({ policy }: Named[number] | Charge): string {
  return countingOf(policy).suffix
}

/** The settlement of a reservation at an actual cost. */
export function settlementOf(
  { id, limiter, key, maxWait }: { id: string; limiter: string; key: string; maxWait: number },
  named: Named,
  actual: unknown,
): Settlement {
  const reserved = reservedUnder(id)
  for (const [policy, { suffix }] of reserved) {
    if (named.some((own) => own.name === policy && suffixOf(own) === suffix)) continue
    // A settlement under other policies would change the wrong state.
    throw new SluiceError(
      "INVALID_OPTION",
      `this was reserved under another policy ${shown(policy)}. Pass it: reservation(key, id, { policy })`,
    )
  }
  const back: Charge[] = []
  const more: Charge[] = []
  const reservedAs = (name: string) => reserved.get(name)?.cost ?? 0
  for (const charge of settled(named, key, actual, reservedAs)) {
    const difference = charge.cost - reservedAs(charge.name)
    if (difference < 0) back.push({ ...charge, cost: -difference })
    if (difference > 0) more.push({ ...charge, cost: difference })
  }
  return { ref: placeOfReservation(limiter, key, id), back, more, maxWait }
}

/** The estimate under each policy by name, and the suffix of its algorithm. */
export function reservedUnder(id: unknown): Map<string, { cost: number; suffix: string }> {
  const text = typeof id === "string" ? /^[\da-f]{32}\?(.+)$/.exec(id)?.[1] : undefined
  const costs = [...new URLSearchParams(text)].map(([name, value]) => {
    const [, cost, suffix = ""] = /^(\d+)(\D+)$/.exec(value) ?? []
    return [name, { cost: Number(cost), suffix }] as const
  })
  if (text === undefined || !costs.every(([, { cost }]) => Number.isSafeInteger(cost) && cost > 0)) {
    throw new SluiceError("INVALID_OPTION", `id must be that of a reservation, got ${shown(id)}`)
  }
  return new Map(costs)
}
