import type { Policy } from "sluice"
import type { PolicyRequest, Settlement, StateRef } from "sluice/store"
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
  admit(policies: readonly PolicyRequest[], at: number, note?: string): void {
    for (const policy of policies) {
      const stateRef = placeName(policy)
      let account = this.#accounts.get(stateRef)
      if (account === undefined) {
        account = { policy: localShare(policy.policy, this.#share), segments: [[]], strays: 0 }
        this.#accounts.set(stateRef, account)
      }
      const admitted = { v: at, units: policy.cost }
      account.segments.at(-1)?.push(admitted)
      if (note !== undefined) this.#reserved.set(`${note} ${stateRef}`, admitted)
      const lasts = countsFor(policy.policy, account.policy)
      if (lasts > 0) this.#counts.set(stateRef, this.#laws.timeline.now + lasts)
    }
  }

  /** A turn is given back. */
  leave(policies: readonly PolicyRequest[], at: number): void {
    for (const policy of policies) {
      const account = this.#accounts.get(placeName(policy))
      const found = account?.segments.at(-1)?.find(({ v, units }) => v === at && units === policy.cost)
      if (found !== undefined) found.units = 0
      else if (account !== undefined) account.strays += policy.cost
      this.#counts.delete(placeName(policy))
    }
  }

  /** A reservation is settled that was made without the store. */
  settle({ ref: stateRef, back }: Settlement): void {
    for (const policy of back) {
      const admitted = this.#reserved.get(`${stateRef.ref.id} ${placeName(policy)}`)
      const account = this.#accounts.get(placeName(policy))
      if (admitted === undefined || account === undefined) continue
      admitted.units -= policy.cost
      if (account.segments.at(-1)?.includes(admitted) !== true) account.strays += policy.cost
      this.#counts.delete(placeName(policy))
    }
  }

  /** What was counted is charged to the store, or forgotten. */
  forget(stateRefs: readonly StateRef[]): void {
    for (const stateRef of stateRefs) {
      this.#counts.delete(placeName(stateRef))
      this.#accounts.get(placeName(stateRef))?.segments.push([])
    }
  }

  /** Whether something is owed for one of the keys that are asked for. */
  owes(policies: readonly PolicyRequest[]): boolean {
    return policies.some((policy) => (this.#counts.get(placeName(policy)) ?? 0) > this.#laws.timeline.now)
  }

  check(): void {
    const { book, clocks } = this.#laws
    for (const [stateRef, { policy, segments, strays }] of this.#accounts) {
      for (const segment of segments) {
        segment.sort((a, b) => a.v - b.v)
        const excuses = { gifts: [], horizon: 0, units: strays, time: clocks.steps }
        const wrong = overAdmission(policy, segment, excuses)
        if (wrong === undefined) continue
        book.breach("no more than its share while degraded", `${this.#name} ${stateRef}: ${wrong}`)
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
