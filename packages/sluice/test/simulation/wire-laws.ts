import type { LawBook } from "./law-book.js"
import type { WireAsk } from "./script-call.js"
import type { Wire } from "./simulated-network.js"
import type { Executed } from "./simulated-server.js"
import type { Owner } from "./timeline.js"

/** How many asks that are alike have come how far, of one process. */
interface Flow {
  /** Given to the store. */
  issued: number
  /** Sent, and not refused. */
  sent: number
  executed: number
  /** Granted on the server, and told so to whoever asked. */
  granted: number
  told: number
  /** Ended with `STORE_REFUSED` or `STORE_UNKNOWN`. */
  refused: number
  unknown: number
  /** Of which nobody can tell whether they ran. */
  lost: number
}

/**
 * What holds between a store and the wire: nothing is sent again that may have run, nobody is told of more than was
 * granted, what is said to be refused has not run and never will, and what is said to be unknown is.
 */
export class WireLaws implements Wire {
  readonly #book: LawBook
  readonly #flows = new Map<string, Flow>()

  constructor(book: LawBook) {
    this.#book = book
  }

  issued(from: Owner, signature: string, count: number): void {
    this.#flow(from.name, signature).issued += count
  }

  told(from: Owner, signature: string, granted: number): void {
    const flow = this.#flow(from.name, signature)
    flow.told += granted
    this.#book.require(
      flow.told <= flow.granted,
      "nobody is told of more than the server has granted",
      () => `${from.name}: ${flow.told} of ${flow.granted}, ${signature}`,
    )
  }

  failed(from: Owner, signature: string, count: number, code: string): void {
    const flow = this.#flow(from.name, signature)
    if (code === "STORE_REFUSED") flow.refused += count
    else flow.unknown += count
    this.#checkRefused(from.name, signature, flow)
    // peeks that are alike share an answer, and an error
    this.#book.require(
      flow.unknown <= flow.lost || isPeek(signature),
      "STORE_UNKNOWN only of what may have run",
      () => `${from.name}: ${flow.unknown} of ${flow.lost}, ${signature}`,
    )
  }

  sent(from: Owner, requests: readonly WireAsk[]): void {
    for (const { signature, count } of requests) {
      const flow = this.#flow(from.name, signature)
      flow.sent += asksIn(count, signature)
      this.#book.require(
        flow.sent <= flow.issued || isPeek(signature),
        "what may have run is never sent again",
        () => `${from.name}: ${flow.sent} sent of ${flow.issued}, ${signature}`,
      )
    }
  }

  refused(from: Owner, requests: readonly WireAsk[]): void {
    for (const { signature, count } of requests)
      this.#flow(from.name, signature).sent -= asksIn(count, signature)
  }

  lost(from: Owner, requests: readonly WireAsk[]): void {
    for (const { signature, count } of requests)
      this.#flow(from.name, signature).lost += asksIn(count, signature)
  }

  executed({ from, asks: requests, outcomes }: Executed): void {
    for (const [i, { signature, count }] of requests.entries()) {
      const outcome = outcomes[i]
      if (outcome === undefined || outcome instanceof Error) continue
      const flow = this.#flow(from, signature)
      flow.executed += asksIn(count, signature)
      flow.granted += outcome.granted
      this.#checkRefused(from, signature, flow)
    }
  }

  #checkRefused(from: string, signature: string, flow: Flow): void {
    this.#book.require(
      flow.executed <= flow.issued - flow.refused || isPeek(signature),
      "STORE_REFUSED only of what never runs",
      () => `${from}: ${flow.executed} ran of ${flow.issued}, ${flow.refused} refused, ${signature}`,
    )
  }

  #flow(from: string, signature: string): Flow {
    const name = `${from} ${signature}`
    let flow = this.#flows.get(name)
    if (flow === undefined) {
      flow = { issued: 0, sent: 0, executed: 0, granted: 0, told: 0, refused: 0, unknown: 0, lost: 0 }
      this.#flows.set(name, flow)
    }
    return flow
  }
}

/** A peek changes nothing. The store also sends one in place of a spend while the server accepts no writes. */
function isPeek(signature: string): boolean {
  return signature.startsWith("peek")
}

/** Spends have a count; peeks that are alike share an answer, and others are one each. */
function asksIn(count: WireAsk["count"], signature: string): number {
  return signature.startsWith("spend") && typeof count === "number" ? count : 1
}
