import { combine, type Decision, type Limiter, type Reservation, SluiceError } from "sluice"
import type { GuardLaws } from "./guard-laws.js"
import type { Laws } from "./laws.js"
import type { LimiterShape } from "./shape.js"
import type { Owner } from "./timeline.js"

/** Codes that a caller may meet in a world where nobody misuses anything. */
const codes: ReadonlySet<string> = new Set([
  "STORE_REFUSED",
  "STORE_UNKNOWN",
  "WAIT_TOO_LONG",
  "QUEUE_FULL",
  "CLOSED",
])

/** What ends a wait. */
export const ABORTED = new Error("given up")

/** A limiter, and what is watched around it. */
export interface Made {
  readonly made: Limiter
  readonly guard: GuardLaws
}

/** A limiter in a process, and callers who use it and look whether they were treated well. */
export class Player {
  readonly owner: Owner
  readonly limiter: LimiterShape
  readonly #make: () => Made
  #made: Limiter
  #guard: GuardLaws
  /** How many limiters have taken the place of others. */
  #generation = 0
  readonly #laws: Laws
  /** Calls that are not over. */
  pending = 0

  constructor(owner: Owner, limiter: LimiterShape, make: () => Made, laws: Laws) {
    this.owner = owner
    this.limiter = limiter
    this.#make = make
    const { made, guard } = make()
    this.#made = made
    this.#guard = guard
    this.#laws = laws
  }

  tryAcquire(key: string, cost: number | Record<string, number>): Promise<Decision | undefined> {
    return this.#follow(`try ${key} ${JSON.stringify(cost)}`, () =>
      this.#made.tryAcquire(key, { cost: this.#ofEach(cost) }),
    )
  }

  /** Asks for a key of another limiter of the process along with one of this. */
  combine(other: Player, key: string, otherKey: string): void {
    const claims = () => [this.#made.on(key), other.#made.on(otherKey)]
    const what = `combine ${key} and ${other.limiter.name} ${otherKey}`
    this.#follow(what, () => combine(claims()).tryAcquire())
  }

  peek(key: string, cost: number): void {
    this.#follow(`peek ${key} ${cost}`, () => this.#made.peek(key, { cost: this.#ofEach(cost) }))
  }

  charge(key: string, cost: number): void {
    this.#follow(`charge ${key} ${cost}`, () => this.#made.charge(key, this.#ofEach(cost)))
  }

  refund(key: string, cost: number): void {
    this.#follow(`refund ${key} ${cost}`, () => this.#made.refund(key, this.#ofEach(cost)))
  }

  reset(key: string): void {
    this.#follow(`reset ${key}`, () => this.#made.reset(key))
  }

  /** Reserves, and settles by another or the same process when told. */
  async reserve(key: string, cost: number, later: (settle: (by: Player, actual: number) => void) => void) {
    const reserved = await this.#follow<Reservation>(`reserve ${key} ${cost}`, () =>
      this.#made.reserve(key, { cost: this.#ofEach(cost), ttl: "5m" }),
    )
    if (reserved?.decision.allowed !== true) return
    later((by, actual) => by.settle(key, reserved.id, actual))
  }

  settle(key: string, id: string, actual: number): void {
    this.#follow(`settle ${key} at ${actual}`, () =>
      this.#made.reservation(key, id).settle(this.#ofEach(actual)),
    )
  }

  /** Waits, for as long as `timeout` milliseconds if that is given, and gives up after `patience`. */
  wait(key: string, cost: number, timeout: number | undefined, patience: number | undefined): void {
    const { owner, limiter } = this
    const most = timeout === undefined ? limiter.maxWait : Math.min(timeout, limiter.maxWait)
    const line = `${owner.name} ${limiter.name}.${this.#generation} ${key} ${cost} ${most}`
    const waiter = this.#laws.waiting.join(owner, line)
    const abort = new AbortController()
    const { signal } = abort
    if (patience !== undefined) {
      this.#laws.timeline.at(this.#laws.timeline.now + patience * 1_000, owner, () => abort.abort(ABORTED))
    }
    this.#laws.line = line
    const waited = this.#follow<Decision>(`wait ${key} ${cost} at most ${most}`, () => {
      const { asks } = this.#guard
      const call =
        timeout === undefined
          ? this.#made.acquire(key, { cost: this.#ofEach(cost), signal })
          : this.#made.tryAcquire(key, { cost: this.#ofEach(cost), signal, timeout })
      const asked = this.#guard.asks > asks
      return call.catch((error: unknown) => {
        const isFull = error instanceof SluiceError && error.code === "QUEUE_FULL"
        const law = "no request that the store would grant now is refused because of waiters"
        this.#laws.book.require(asked || !isFull, law, () => `${line}: the store was not asked`)
        throw error
      })
    })
    this.#laws.line = undefined
    waited.then((decision) => {
      if (decision?.allowed === true) this.#goes(waiter, decision)
      this.#laws.waiting.settled(waiter, (limiter.deadline + most) * 1_000)
    })
  }

  /** Closes the limiter and puts another in its place, as a deploy does, with everything under way. */
  redeploy(): void {
    const { book } = this.#laws
    const old = this.#made
    book.note(this.owner.name, `${this.limiter.name} is closed and made again`)
    this.close()
    old.tryAcquire("late").then(
      () => book.breach("calls after closing reject", this.limiter.name),
      (error: unknown) => {
        const closed = error instanceof SluiceError && error.code === "CLOSED"
        book.require(closed, "calls after closing reject", () => String(error))
      },
    )
    const { made, guard } = this.#make()
    this.#made = made
    this.#guard = guard
    this.#generation += 1
  }

  async close(): Promise<void> {
    const since = this.#laws.timeline.now
    const stalled = this.owner.stalled
    this.#guard.closed = true
    await this.#made.close()
    const took = (this.#laws.timeline.now - since - (this.owner.stalled - stalled)) / 1_000
    this.#laws.book.require(took <= 2_005, "closing takes two seconds at the most", () => `${took} ms`)
  }

  /** The same cost under every policy of the limiter. */
  #ofEach(cost: number | Record<string, number>): number | Record<string, number> {
    const names = Object.keys(this.limiter.policies)
    if (typeof cost !== "number" || names.includes("default")) return cost
    return Object.fromEntries(names.map((name) => [name, cost]))
  }

  #goes(waiter: ReturnType<Laws["waiting"]["join"]>, decision: Decision): void {
    const { book, balance, admissions, waiting } = this.#laws
    const turn = waiting.woken(waiter)
    if (turn === undefined) return
    const { parts: policies, answer: reply } = turn
    const degraded = reply.source === "fallback"
    book.require(decision.degraded === degraded, "degraded decisions say so", () => waiter.line)
    if (degraded) return
    balance.admitted(this.owner.name, policies)
    admissions.admitTurn(policies, reply.receipt ?? [])
  }

  /** Makes a call and says what came of it; undefined if it was rejected. */
  async #follow<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
    const { book } = this.#laws
    const who = `${this.owner.name} ${this.limiter.name}`
    book.note(who, what)
    this.pending += 1
    try {
      const value = await call()
      book.note(who, `${what}: ${this.#said(value)}`)
      return value
    } catch (error) {
      book.note(who, `${what} failed: ${error instanceof SluiceError ? error.code : String(error)}`)
      const known = error === ABORTED || (error instanceof SluiceError && codes.has(error.code))
      book.require(known, "errors have codes", () => `${who} ${what}: ${(error as Error).stack}`)
      return undefined
    } finally {
      this.pending -= 1
    }
  }

  #said(value: unknown): string {
    if (typeof value !== "object" || value === null) return String(value)
    const decision = "decision" in value ? (value.decision as Decision) : (value as Decision)
    const { allowed, source, degraded, remaining, retryAfter } = decision
    this.#laws.book.require(
      degraded === (source === "fallback") && (!allowed || retryAfter === 0),
      "degraded decisions say so",
      () => JSON.stringify(decision),
    )
    return `${allowed ? "allowed" : "denied"} by ${source}, ${remaining} left, ${retryAfter} ms`
  }
}
