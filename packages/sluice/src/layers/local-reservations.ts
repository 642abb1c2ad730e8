import type { StateRef } from "../state-key.js"
import type { PolicyRequest } from "../store.js"

/** A reservation made in this process during an outage. Its keys are escaped, which bounds their length. */
export interface Reserved {
  readonly ref: StateRef
  readonly parts: readonly PolicyRequest[]
  /** The time of the debit, and the end of the time to settle it, by the clock of this process. */
  readonly at: number
  readonly till: number
  /** The units that the store was charged for, by the name of a state. `at` is the time of the charge, by the store's clock. */
  readonly charged: Map<string, { readonly units: number; readonly at: number }>
}

/** The name of a state whose key is escaped. */
export function nameOf({ ref, key }: StateRef): string {
  return ref.head + key + ref.tail
}

/** The open reservations of this process. When it is full, the oldest is forgotten. */
export class LocalReservations {
  readonly #most: number
  readonly #byNote = new Map<string, Reserved>()
  readonly #byPlace = new Map<string, Set<Reserved>>()

  constructor(most: number) {
    this.#most = most
  }

  add(reserved: Reserved, now: number): void {
    for (const oldest of this.#byNote.values()) {
      if (oldest.till > now && this.#byNote.size < this.#most) break
      this.#remove(oldest)
    }
    this.#byNote.set(nameOf(reserved.ref), reserved)
    for (const policy of reserved.parts) {
      const here = this.#byPlace.get(nameOf(policy)) ?? new Set()
      this.#byPlace.set(nameOf(policy), here.add(reserved))
    }
  }

  /** Removes and returns the reservation with this note, if it can still be settled. */
  take(stateRef: StateRef, now: number): Reserved | undefined {
    const reserved = this.#byNote.get(nameOf(stateRef))
    if (reserved !== undefined) this.#remove(reserved)
    return reserved !== undefined && reserved.till > now ? reserved : undefined
  }

  /** The reservations on one state, oldest first. */
  of(stateRef: StateRef): Iterable<Reserved> {
    return this.#byPlace.get(nameOf(stateRef)) ?? []
  }

  #remove(reserved: Reserved): void {
    this.#byNote.delete(nameOf(reserved.ref))
    for (const policy of reserved.parts) {
      const here = this.#byPlace.get(nameOf(policy))
      here?.delete(reserved)
      if (here?.size === 0) this.#byPlace.delete(nameOf(policy))
    }
  }
}
