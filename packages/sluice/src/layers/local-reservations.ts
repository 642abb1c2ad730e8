import type { Place } from "../state-key.js"
import type { Part } from "../store.js"

/** Something that was reserved in this process. */
export interface Reserved {
  readonly place: Place
  readonly parts: readonly Part[]
  /** The moment of the debit, and when it can no longer be settled, by the clock of this process. */
  readonly at: number
  readonly till: number
  /** What of it the store has been charged for, by the name of a place, and when by the clock of the store. */
  readonly charged: Map<string, { readonly units: number; readonly at: number }>
}

/** The same for the same place. */
export function nameOf({ scope, key }: Place): string {
  return `${scope.id}:${key}`
}

/** What was reserved in this process and is not settled, at most so many: the oldest go first. */
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
    this.#byNote.set(nameOf(reserved.place), reserved)
    for (const part of reserved.parts) {
      const here = this.#byPlace.get(nameOf(part)) ?? new Set()
      this.#byPlace.set(nameOf(part), here.add(reserved))
    }
  }

  /** Takes out what was noted in a place, if it can be settled still. */
  take(place: Place, now: number): Reserved | undefined {
    const reserved = this.#byNote.get(nameOf(place))
    if (reserved !== undefined) this.#remove(reserved)
    return reserved !== undefined && reserved.till > now ? reserved : undefined
  }

  /** What was reserved of a place, the oldest first. */
  of(place: Place): Iterable<Reserved> {
    return this.#byPlace.get(nameOf(place)) ?? []
  }

  #remove(reserved: Reserved): void {
    this.#byNote.delete(nameOf(reserved.place))
    for (const part of reserved.parts) {
      const here = this.#byPlace.get(nameOf(part))
      here?.delete(reserved)
      if (here?.size === 0) this.#byPlace.delete(nameOf(part))
    }
  }
}
