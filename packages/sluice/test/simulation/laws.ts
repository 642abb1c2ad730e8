import { AdmissionLaws } from "./admission-laws.js"
import { BalanceLaws } from "./balance-laws.js"
import { CacheLaws, LeaseLaws, type Tellers } from "./cache-laws.js"
import type { LawBook } from "./law-book.js"
import type { Executed } from "./simulated-server.js"
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
  /** Whether the store is there or not as a whole; a Cluster may be there in part. */
  readonly wholeStore: boolean
  /** The line of whoever is calling a limiter just now. */
  line: string | undefined

  constructor(book: LawBook, timeline: Timeline, tellers: Tellers, maxWait: number, wholeStore: boolean) {
    this.book = book
    this.timeline = timeline
    this.wholeStore = wholeStore
    this.wire = new WireLaws(book)
    this.balance = new BalanceLaws(book)
    this.admissions = new AdmissionLaws(book, maxWait)
    this.waiting = new WaitingLaws(book, timeline)
    this.cache = new CacheLaws(book, timeline, tellers)
    this.lease = new LeaseLaws(book, timeline, tellers)
  }

  executed(executed: Executed): void {
    for (const { signature } of executed.wrongs) this.book.breach("a denial changes nothing", signature)
    this.wire.executed(executed)
    this.admissions.executed(executed)
    this.cache.executed(executed)
    this.lease.executed(executed)
  }

  /** The clock of a process is put ahead or back. */
  stepped(us: number): void {
    this.admissions.clockSteps += Math.abs(us)
    this.lease.clockSteps += Math.abs(us)
  }

  /** When everything is over, and these processes are closed. */
  checkEnd(owners: readonly Owner[]): void {
    for (const { name } of owners) {
      this.balance.checkEnd(name)
      this.waiting.checkEnd(name)
    }
    this.admissions.check()
  }
}
