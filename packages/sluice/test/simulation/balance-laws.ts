import type { Part } from "sluice"
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

  granted(from: string, parts: readonly Part[], times: number): void {
    for (const part of parts) this.#of(from, part).granted += part.cost * times
  }

  admitted(from: string, parts: readonly Part[]): void {
    for (const part of parts) {
      const balance = this.#of(from, part)
      balance.admitted += part.cost
      this.#check(from, part, balance)
    }
  }

  returned(from: string, parts: readonly Part[]): void {
    if (this.settling) return
    for (const part of parts) {
      const balance = this.#of(from, part)
      balance.returned += part.cost
      this.#check(from, part, balance)
    }
  }

  kept(from: string, parts: readonly Part[], times: number): void {
    for (const part of parts) this.#of(from, part).kept += part.cost * times
  }

  reset(from: string, part: Pick<Part, "scope" | "key">): void {
    this.#of(from, part).wasReset = true
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

  #check(from: string, part: Part, balance: Balance): void {
    this.#book.require(
      balance.admitted + balance.returned <= balance.granted,
      "no more is let through or given back than was granted",
      () => `${from} ${placeName(part)}: ${JSON.stringify(balance)}`,
    )
  }

  #of(from: string, part: Pick<Part, "scope" | "key">): Balance {
    const name = `${from} ${placeName(part)}`
    let balance = this.#balances.get(name)
    if (balance === undefined) {
      balance = { granted: 0, admitted: 0, returned: 0, kept: 0, wasReset: false }
      this.#balances.set(name, balance)
    }
    return balance
  }
}
