import { SluiceError } from "../errors.js"
import { AbortListeners } from "../waiting/abort-listeners.js"
import type { Grants, PermitAsk } from "./calls.js"
import { denied, type PermitDecision, passed } from "./decision.js"

/** Asks for permits, and gives back those that came too late. */
export interface Desk {
  ask(asks: readonly PermitAsk[]): Promise<Grants>
  /** Never rejects: nobody is left to tell, and what is not given back leaves after an interval. */
  giveBack(asks: readonly PermitAsk[]): Promise<void>
}

interface Waiter extends PermitAsk {
  /** When it has waited for long enough, by the clock of this process. */
  readonly deadline: number
  /** Whether it has been answered; permits that come later are given back. */
  gone: boolean
  resolve(decision: PermitDecision): void
  reject(reason: unknown): void
}

/** How many waiters one call asks for at the most. */
const MOST_ASKS = 64
/** Milliseconds by which processes that were told the same moment are kept apart, at the most. */
const JITTER = 5
const LONGEST_TIMER = 2 ** 31 - 1

/**
 * Callers of this process that wait for permits, in a row. The first asks, and some behind it in the same call; then
 * all of them wait for the moment that the first was told, on one timer. Nobody overtakes.
 */
export class Waiters {
  readonly #desk: Desk
  readonly #abortListeners = new AbortListeners()
  #row: Waiter[] = []
  /** The permits that all of them want. */
  #wanted = 0
  #asking = false
  /** Whether the answer that is under way may be about what no longer is. */
  #outdated = false
  #timer: NodeJS.Timeout | undefined
  /** When the first can pass at the earliest, if it was denied; and what it was told. */
  #readyAt = 0
  #told: Grants | undefined

  constructor(desk: Desk) {
    this.#desk = desk
  }

  get size(): number {
    return this.#row.length
  }

  /** Waits for a turn, but not for one that can only come after `timeout` milliseconds. */
  wait(ask: PermitAsk, timeout: number, signal: AbortSignal | undefined): Promise<PermitDecision> {
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + timeout
      const turn = this.#earliest(this.#wanted + ask.permits)
      if (deadline < turn) {
        resolve(denied(this.#told as Grants, turn - performance.now()))
        return
      }
      const end = () => {
        waiter.gone = true
        this.#wanted -= ask.permits
        stopListening?.()
      }
      const waiter: Waiter = {
        ...ask,
        deadline,
        gone: false,
        resolve(decision) {
          end()
          resolve(decision)
        },
        reject(reason) {
          end()
          reject(reason)
        },
      }
      const stopListening =
        signal && this.#abortListeners.add(signal, () => this.#leave(waiter, signal.reason))
      this.#wanted += ask.permits
      this.#row.push(waiter)
      this.#next()
    })
  }

  /** Has the first ask again at once, because what it was told may no longer be so. */
  wake(): void {
    this.#outdated = this.#asking
    this.#readyAt = 0
    this.#next()
  }

  /** Ends all waits with an error. */
  close(error: Error): void {
    for (const waiter of this.#row) waiter.reject(error)
    this.#row = []
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #next(): void {
    const [first] = this.#row
    if (this.#asking || first === undefined) return
    const early = this.#readyAt - performance.now()
    if (early <= 0) {
      void this.#ask(this.#row.slice(0, MOST_ASKS))
      return
    }
    if (this.#timer !== undefined) return
    const late = Math.min(Math.random() * Math.min(early / 10, JITTER), first.deadline - this.#readyAt)
    const ring = () => {
      this.#timer = undefined
      this.#next()
    }
    this.#timer = setTimeout(ring, Math.min(Math.ceil(early + late), LONGEST_TIMER)).unref()
  }

  async #ask(batch: readonly Waiter[]): Promise<void> {
    this.#asking = true
    this.#outdated = false
    this.#readyAt = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      const grants = await this.#desk.ask(batch)
      const granted = batch.slice(0, grants.granted)
      const late = granted.filter(({ gone }) => gone)
      if (late.length > 0) void this.#desk.giveBack(late).then(() => this.wake())
      let left = grants.free + granted.reduce((sum, { permits }) => sum + permits, 0)
      for (const waiter of granted) {
        left -= waiter.permits
        if (!waiter.gone) waiter.resolve(passed(grants, left))
      }
      if (batch[grants.granted]?.gone === false && !this.#outdated) this.#note(grants)
    } catch (error) {
      for (const waiter of this.#struckBy(error, batch)) if (!waiter.gone) waiter.reject(error)
    }
    this.#row = this.#row.filter(({ gone }) => !gone)
    this.#asking = false
    this.#next()
  }

  /** Whether so many permits are more than the rate was when one was last told of it. */
  exceeds(permits: number): boolean {
    return this.#told !== undefined && permits > this.#told.rate
  }

  /** Keeps what the first was told, and refuses those who cannot have their turn in time. */
  #note(grants: Grants): void {
    const now = performance.now()
    this.#told = grants
    this.#readyAt = now + grants.wait
    let wanted = 0
    for (const waiter of this.#row) {
      if (waiter.gone) continue
      const turn = this.#earliest(wanted + waiter.permits)
      if (waiter.deadline < turn) waiter.resolve(denied(grants, turn - now))
      else wanted += waiter.permits
    }
  }

  /** The earliest moment at which the last of so many permits is given: no interval has more than the rate. */
  #earliest(permits: number): number {
    if (this.#told === undefined || this.#readyAt === 0) return 0
    const { rate, interval } = this.#told
    return this.#readyAt + (Math.ceil(permits / rate) - 1) * interval
  }

  /** Who an error is for: those that the call may have spent permits for, the one at fault, or all who wait. */
  #struckBy(error: unknown, batch: readonly Waiter[]): readonly Waiter[] {
    const code = error instanceof SluiceError ? error.code : "STORE_UNKNOWN"
    if (code === "INVALID_COST") return batch.slice(0, 1)
    return code === "STORE_UNKNOWN" ? batch : this.#row
  }

  #leave(waiter: Waiter, reason: unknown): void {
    const first = this.#row[0] === waiter
    this.#row.splice(this.#row.indexOf(waiter), 1)
    waiter.reject(reason)
    // what the first was told says nothing of the next
    if (first && !this.#asking) this.wake()
  }
}
