import type { Part, Place, Policy, Settlement } from "sluice"
import { localShare } from "../../src/layers/local-share.js"
import type { Laws } from "./laws.js"
import { placeName } from "./script-call.js"
import { overAdmission, type Units } from "./spans.js"

/** Units that somebody was let through with. */
interface Admitted extends Units {
  units: number
}

/** What is counted of one key under one policy. */
interface Account {
  readonly policy: Policy
  /** Between times at which it was forgotten. */
  readonly segments: Admitted[][]
  /** Units given back that were forgotten before: somebody else may have them. */
  strays: number
}

/** What a limiter with `{ local: share }` admits by itself, no more than its share, and owes the store for it. */
export class AloneLaws {
  readonly #name: string
  readonly #share: number
  readonly #laws: Laws
  readonly #accounts = new Map<string, Account>()
  readonly #reserved = new Map<string, Admitted>()
  /** Until when something that was spent here is certain to count, by place. */
  readonly #counts = new Map<string, number>()

  constructor(name: string, share: number, laws: Laws) {
    this.#name = name
    this.#share = share
    this.#laws = laws
    laws.alone.push(this)
  }

  /** Somebody is let through, now or at a turn; `note` is where it is reserved. */
  admit(parts: readonly Part[], at: number, note?: string): void {
    for (const part of parts) {
      const place = placeName(part)
      let account = this.#accounts.get(place)
      if (account === undefined) {
        account = { policy: localShare(part.policy, this.#share), segments: [[]], strays: 0 }
        this.#accounts.set(place, account)
      }
      const admitted = { v: at, units: part.cost }
      account.segments.at(-1)?.push(admitted)
      if (note !== undefined) this.#reserved.set(`${note} ${place}`, admitted)
      const lasts = countsFor(part.policy, account.policy)
      if (lasts > 0) this.#counts.set(place, this.#laws.timeline.now + lasts)
    }
  }

  /** A turn is given back. */
  leave(parts: readonly Part[], at: number): void {
    for (const part of parts) {
      const account = this.#accounts.get(placeName(part))
      const found = account?.segments.at(-1)?.find(({ v, units }) => v === at && units === part.cost)
      if (found !== undefined) found.units = 0
      else if (account !== undefined) account.strays += part.cost
      this.#counts.delete(placeName(part))
    }
  }

  /** A reservation is settled that was made without the store. */
  settle({ place, back }: Settlement): void {
    for (const part of back) {
      const admitted = this.#reserved.get(`${place.scope.id} ${placeName(part)}`)
      const account = this.#accounts.get(placeName(part))
      if (admitted === undefined || account === undefined) continue
      admitted.units -= part.cost
      if (account.segments.at(-1)?.includes(admitted) !== true) account.strays += part.cost
      this.#counts.delete(placeName(part))
    }
  }

  /** What was counted is charged to the store, or forgotten. */
  forget(places: readonly Place[]): void {
    for (const place of places) {
      this.#counts.delete(placeName(place))
      this.#accounts.get(placeName(place))?.segments.push([])
    }
  }

  /** Whether something is owed for one of the keys that are asked for. */
  owes(parts: readonly Part[]): boolean {
    return parts.some((part) => (this.#counts.get(placeName(part)) ?? 0) > this.#laws.timeline.now)
  }

  check(): void {
    const { book, clocks } = this.#laws
    for (const [place, { policy, segments, strays }] of this.#accounts) {
      for (const segment of segments) {
        segment.sort((a, b) => a.v - b.v)
        const excuses = { gifts: [], horizon: 0, units: strays, time: clocks.steps }
        const wrong = overAdmission(policy, segment, excuses)
        if (wrong === undefined) continue
        book.breach("no more than its share while degraded", `${this.#name} ${place}: ${wrong}`)
      }
    }
  }
}

/** Microseconds for which a unit that was spent by a share of a policy counts for certain. */
function countsFor(policy: Policy, own: Policy): number {
  if (policy.algorithm === "slidingLog" || policy.algorithm === "slidingWindow") return policy.window * 900
  if (own.algorithm === "leakyBucket") return (own.every * 900) / own.leak
  return own.algorithm === "tokenBucket" && own.mode === "continuous" ? (own.every * 900) / own.refill : 0
}
