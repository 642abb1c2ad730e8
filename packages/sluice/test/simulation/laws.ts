import type { StateRef } from "sluice/store"
import { AdmissionLaws } from "./admission-laws.js"
import type { AloneLaws } from "./alone-laws.js"
import { BalanceLaws } from "./balance-laws.js"
import { CacheLaws, type Clocks } from "./cache-laws.js"
import type { LawBook } from "./law-book.js"
import { LeaseLaws } from "./lease-laws.js"
import { RefusalLaws } from "./refusal-laws.js"
import type { Executed, SimulatedServer } from "./simulated-server.js"
import type { Owner, Timeline } from "./timeline.js"
import { WaitingLaws } from "./waiting-laws.js"
import { WireLaws } from "./wire-laws.js"

/** All that is watched while a seed runs. */
export class Laws {
  readonly book: LawBook
  readonly timeline: Timeline
  readonly wire: WireLaws
  readonly balance: BalanceLaws
  readonly admissions: AdmissionLaws
  readonly waiting: WaitingLaws
  readonly cache: CacheLaws
  readonly lease: LeaseLaws
  readonly refusals: RefusalLaws
  /** Whether the store is there or not as a whole; a Cluster may be there in part. */
  readonly wholeStore: boolean
  /** Of every limiter that goes on by itself; one that takes the place of another counts anew. */
  readonly alone: AloneLaws[] = []
  readonly clocks: Clocks
  /** The line of whoever is calling a limiter just now. */
  line: string | undefined

  constructor(
    book: LawBook,
    timeline: Timeline,
    serverOf: (stateRef: StateRef) => SimulatedServer,
    clocks: Clocks,
    maxWait: number,
    wholeStore: boolean,
  ) {
    this.book = book
    this.timeline = timeline
    this.wholeStore = wholeStore
    this.clocks = clocks
    this.wire = new WireLaws(book)
    this.balance = new BalanceLaws(book)
    this.admissions = new AdmissionLaws(book, clocks, maxWait)
    this.waiting = new WaitingLaws(book, timeline)
    this.cache = new CacheLaws(book, timeline, serverOf, clocks)
    this.lease = new LeaseLaws(book, timeline, serverOf, clocks)
    this.refusals = new RefusalLaws(book, serverOf, clocks)
  }

  executed(executed: Executed): void {
    for (const [i, { signature, count }] of executed.asks.entries()) {
      const outcome = executed.outcomes[i]
      const came = outcome instanceof Error ? outcome.message.split(" ", 1)[0] : outcome?.granted
      const times =
        typeof count === "number" && count > 1 && signature.startsWith("spend") ? ` x${count}` : ""
      this.book.note("server", `${executed.from} ${signature}${times} = ${came}`)
    }
    for (const { signature } of executed.wrongs) this.book.breach("a denial changes nothing", signature)
    this.wire.executed(executed)
    this.admissions.executed(executed)
    this.cache.executed(executed)
    this.lease.executed(executed)
    this.refusals.executed(executed)
  }

  /** When everything is over, and these processes are closed. */
  checkEnd(owners: readonly Owner[]): void {
    for (const { name } of owners) {
      this.balance.checkEnd(name)
      this.waiting.checkEnd(name)
    }
    this.admissions.check()
    for (const each of this.alone) each.check()
  }
}
