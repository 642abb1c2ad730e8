import type { PolicyRequest } from "sluice/store"
import type { LawBook } from "./law-book.js"
import { placeName } from "./script-call.js"

/** Units of one key under one policy, as one process has dealt with them. */
interface Balance {
  /** What the store has told this process that it was granted. */
  granted: number
  /** What it has let callers through with, and what it has sent back. */
  admitted: number
  returned: number
  /** What it may keep: let through already, or nobody to send it back to. */
  kept: number
  /** A reset takes what is held with it. */
  wasReset: boolean
}

/** What a process is granted it lets somebody through with, or sends back: never both, and nothing is left over. */
export class BalanceLaws {
  readonly #book: LawBook
  readonly #balances = new Map<string, Balance>()
  /** Whether a caller settles something at the moment: what was charged to him goes back, not what was granted. */
  settling = false

  constructor(book: LawBook) {
    this.#book = book
  }

  granted(from: string, policies: readonly PolicyRequest[], times: number): void {
    for (const policy of policies) this.#of(from, policy).granted += policy.cost * times
  }

  admitted(from: string, policies: readonly PolicyRequest[]): void {
    for (const policy of policies) {
      const balance = this.#of(from, policy)
      balance.admitted += policy.cost
      this.#check(from, policy, balance)
    }
  }

  returned(from: string, policies: readonly PolicyRequest[]): void {
    if (this.settling) return
    for (const policy of policies) {
      const balance = this.#of(from, policy)
      balance.returned += policy.cost
      this.#check(from, policy, balance)
    }
  }

  kept(from: string, policies: readonly PolicyRequest[], times: number): void {
    for (const policy of policies) this.#of(from, policy).kept += policy.cost * times
  }

  reset(from: string, policy: Pick<PolicyRequest, "ref" | "key">): void {
    this.#of(from, policy).wasReset = true
  }

  /** When a process is closed, and everything over. */
  checkEnd(from: string): void {
    for (const [name, balance] of this.#balances) {
      const { granted, admitted, returned, kept, wasReset } = balance
      if (wasReset || !name.startsWith(`${from} `)) continue
      this.#book.require(
        granted === admitted + returned + kept,
        "what nobody was let through with is given back",
        () => `${name}: ${JSON.stringify(balance)}`,
      )
    }
  }

  #check(from: string, policy: PolicyRequest, balance: Balance): void {
    this.#book.require(
      balance.admitted + balance.returned <= balance.granted,
      "no more is let through or given back than was granted",
      () => `${from} ${placeName(policy)}: ${JSON.stringify(balance)}`,
    )
  }

  #of(from: string, policy: Pick<PolicyRequest, "ref" | "key">): Balance {
    const name = `${from} ${placeName(policy)}`
    let balance = this.#balances.get(name)
    if (balance === undefined) {
      balance = { granted: 0, admitted: 0, returned: 0, kept: 0, wasReset: false }
      this.#balances.set(name, balance)
    }
    return balance
  }
}
