import { SluiceError } from "../errors.js"
import { AbortListeners } from "../waiting/abort-listeners.js"
import type { Grants, PermitRequest } from "./calls.js"
import { denied, type PermitDecision, passed } from "./decision.js"

/** Calls the scripts that take permits and give them back. */
export interface PermitScripts {
  acquire(requests: readonly PermitRequest[]): Promise<Grants>
  /** Gives back permits of callers that have left. Never rejects: permits that stay taken are free after one interval. */
  giveBack(requests: readonly PermitRequest[]): Promise<void>
}

interface Waiter extends PermitRequest {
  /** When its timeout ends, by `performance.now()`. */
  readonly deadline: number
  /** Whether it is settled. Permits that arrive later are given back. */
  gone: boolean
  resolve(decision: PermitDecision): void
  reject(reason: unknown): void
}

/** How many waiters one script call serves. */
const MAX_BATCH = 64
/** Longest random delay in milliseconds. It keeps processes apart that wait for the same moment. */
const JITTER = 5
const LONGEST_TIMER = 2 ** 31 - 1

/**
 * A first-in, first-out queue of the callers in this process that wait for permits. One script call requests permits for the
 * first waiters. After a denial all of them wait on one timer, until the first can pass.
 */
export class Waiters {
  readonly #scripts: PermitScripts
  readonly #abortListeners = new AbortListeners()
  #queue: Waiter[] = []
  /** The sum of the permits that all waiters want. */
  #wanted = 0
  #inFlight = false
  /** Whether the rate changed or permits were given back while a call was in flight. Its reply may be out of date. */
  #outdated = false
  #timer: NodeJS.Timeout | undefined
  /** The earliest time at which the first waiter can pass. 0 if unknown. */
  #readyAt = 0
  #lastDenial: Grants | undefined

  constructor(scripts: PermitScripts) {
    this.#scripts = scripts
  }

  get size(): number {
    return this.#queue.length
  }

  /** Waits for permits. Resolves with a denial as soon as they cannot come within `timeout` milliseconds. */
  wait(request: PermitRequest, timeout: number, signal: AbortSignal | undefined): Promise<PermitDecision> {
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + timeout
      const turn = this.#earliest(this.#wanted + request.permits)
      if (deadline < turn) {
        resolve(denied(this.#lastDenial as Grants, turn - performance.now()))
        return
      }
      const end = () => {
        waiter.gone = true
        this.#wanted -= request.permits
        stopListening?.()
      }
      const waiter: Waiter = {
        ...request,
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
      this.#wanted += request.permits
      this.#queue.push(waiter)
      this.#next()
    })
  }

  /** Requests permits for the first waiter at once, because its known wait may be out of date. */
  wake(): void {
    this.#outdated = this.#inFlight
    this.#readyAt = 0
    this.#next()
  }

  /** Rejects all waiters with an error. */
  close(error: Error): void {
    for (const waiter of this.#queue) waiter.reject(error)
    this.#queue = []
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #next(): void {
    const [first] = this.#queue
    if (this.#inFlight || first === undefined) return
    const early = this.#readyAt - performance.now()
    if (early <= 0) {
      void this.#request(this.#queue.slice(0, MAX_BATCH))
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

  async #request(batch: readonly Waiter[]): Promise<void> {
    this.#inFlight = true
    this.#outdated = false
    this.#readyAt = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      const grants = await this.#scripts.acquire(batch)
      const granted = batch.slice(0, grants.granted)
      const late = granted.filter(({ gone }) => gone)
      if (late.length > 0) void this.#scripts.giveBack(late).then(() => this.wake())
      let left = grants.free + granted.reduce((sum, { permits }) => sum + permits, 0)
      for (const waiter of granted) {
        left -= waiter.permits
        if (!waiter.gone) waiter.resolve(passed(grants, left))
      }
      if (batch[grants.granted]?.gone === false && !this.#outdated) this.#note(grants)
    } catch (error) {
      for (const waiter of this.#affectedBy(error, batch)) if (!waiter.gone) waiter.reject(error)
    }
    this.#queue = this.#queue.filter(({ gone }) => !gone)
    this.#inFlight = false
    this.#next()
  }

  /** Whether the permits exceed the rate, as of the last denial. */
  exceeds(permits: number): boolean {
    return this.#lastDenial !== undefined && permits > this.#lastDenial.rate
  }

  /** Remembers the denial of the first waiter, and denies waiters whose turn comes after their deadline. */
  #note(grants: Grants): void {
    const now = performance.now()
    this.#lastDenial = grants
    this.#readyAt = now + grants.wait
    let wanted = 0
    for (const waiter of this.#queue) {
      if (waiter.gone) continue
      const turn = this.#earliest(wanted + waiter.permits)
      if (waiter.deadline < turn) waiter.resolve(denied(grants, turn - now))
      else wanted += waiter.permits
    }
  }

  /** The earliest time at which this many permits can be given, because no interval gives more than the rate. */
  #earliest(permits: number): number {
    if (this.#lastDenial === undefined || this.#readyAt === 0) return 0
    const { rate, interval } = this.#lastDenial
    return this.#readyAt + (Math.ceil(permits / rate) - 1) * interval
  }

  /** The waiters to reject: the first if its permits exceed the rate, the batch if it may have spent permits, otherwise all. */
  #affectedBy(error: unknown, batch: readonly Waiter[]): readonly Waiter[] {
    const code = error instanceof SluiceError ? error.code : "STORE_UNKNOWN"
    if (code === "INVALID_COST") return batch.slice(0, 1)
    return code === "STORE_UNKNOWN" ? batch : this.#queue
  }

  #leave(waiter: Waiter, reason: unknown): void {
    const first = this.#queue[0] === waiter
    this.#queue.splice(this.#queue.indexOf(waiter), 1)
    waiter.reject(reason)
    // The known wait belongs to the waiter that left. The next may want fewer permits.
    if (first && !this.#inFlight) this.wake()
  }
}
