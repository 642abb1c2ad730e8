import type { Part, Place, Settlement } from "sluice"
import { localShare } from "../../src/layers/local-share.js"
import type { Laws } from "./laws.js"
import { placeName } from "./script-call.js"

/** What a limiter with `{ local: share }` admits by itself, and owes the store for it. */
export class AloneLaws {
  readonly #from: string
  readonly #share: number
  readonly #laws: Laws
  /** Until when something that was spent here is certain to count, by place. */
  readonly #counts = new Map<string, number>()

  constructor(from: string, share: number, laws: Laws) {
    this.#from = from
    this.#share = share
    this.#laws = laws
  }

  /** Somebody is let through, now or at a turn; `note` is where it is reserved. */
  admit(parts: readonly Part[], at: number, note?: string): void {
    this.#laws.admissions.admitLocally(this.#from, this.#share, at, parts, note)
    for (const part of parts) {
      const lasts = countsFor(part, this.#share)
      if (lasts > 0) this.#counts.set(placeName(part), this.#laws.timeline.now + lasts)
    }
  }

  /** A turn is given back. */
  leave(parts: readonly Part[], at: number): void {
    this.#laws.admissions.leaveLocally(this.#from, at, parts)
    for (const part of parts) this.#counts.delete(placeName(part))
  }

  /** A reservation is settled that was made without the store. */
  settle(settlement: Settlement): void {
    this.#laws.admissions.returnLocally(settlement)
    for (const part of settlement.back) this.#counts.delete(placeName(part))
  }

  /** What was counted is charged to the store, or forgotten. */
  forget(places: readonly Place[]): void {
    for (const place of places) {
      const name = placeName(place)
      this.#counts.delete(name)
      this.#laws.admissions.endLocal(this.#from, name)
    }
  }

  /** Whether something is owed for the key that is asked for. */
  owes([first]: readonly Part[]): boolean {
    return first !== undefined && (this.#counts.get(placeName(first)) ?? 0) > this.#laws.timeline.now
  }
}

/** Microseconds for which a unit that was spent by a share counts for certain. */
function countsFor({ policy }: Part, share: number): number {
  if (policy.algorithm === "slidingLog" || policy.algorithm === "slidingWindow") return policy.window * 900
  const own = localShare(policy, share)
  if (own.algorithm === "leakyBucket") return (own.every * 900) / own.leak
  return own.algorithm === "tokenBucket" && own.mode === "continuous" ? (own.every * 900) / own.refill : 0
}
