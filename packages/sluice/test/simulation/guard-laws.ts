import { type Health, type OutageChange, SluiceError } from "sluice"
import type { Settlement, StateRef, StoreReply, StoreRequest, Turn } from "sluice/store"
import { isPromise } from "../../src/deferred.js"
import { AloneLaws } from "./alone-laws.js"
import { BreakerLaws } from "./breaker-laws.js"
import { type Call, newCall } from "./guarded-call.js"
import type { Laws } from "./laws.js"
import type { Holdings } from "./lease-laws.js"
import { placeName } from "./script-call.js"
import type { LimiterShape } from "./shape.js"
import type { Owner } from "./timeline.js"

/** Microseconds by which deadlines may be late: a timer, and one more if it was early. */
const LATE = 3_000

/** What holds around the outage layer of one limiter in one process. */
export class GuardLaws {
  readonly owner: Owner
  readonly #limiter: LimiterShape
  readonly #laws: Laws
  health: () => Health = () => ({ reachable: true, degraded: 0 })
  readonly #alone: AloneLaws | undefined
  /** What the limiter has leased, if it does. */
  holdings: Holdings | undefined
  readonly #breaker: BreakerLaws
  #current: Call | undefined
  readonly #underWay = new Set<Call>()
  #degraded = 0
  /** How many requests the limiter has made. */
  asks = 0
  #reachable = true
  /** Whether the last answer of the store was one. */
  #sound = true
  /** Whether the store can write, as far as this limiter has been told. */
  #writes = true
  /** Whether another has taken its place. */
  closed = false

  constructor(owner: Owner, limiter: LimiterShape, laws: Laws) {
    this.owner = owner
    this.#limiter = limiter
    this.#laws = laws
    const { then, name } = limiter
    if (typeof then === "object") this.#alone = new AloneLaws(`${owner.name} ${name}`, then.local, laws)
    this.#breaker = new BreakerLaws(laws.timeline, this.#require.bind(this))
  }

  /** The store is given up, or answers again. */
  changed({ reachable, error }: OutageChange): void {
    this.#laws.book.note(this.owner.name, `${this.#limiter.name} reachable ${reachable}`)
    this.#require(reachable !== this.#reachable, "each change is told once", () => `reachable ${reachable}`)
    this.#require(
      reachable || (!isUnwritten(error) && this.#mayGiveUp()),
      "a store is not given up because it cannot write",
      () => String(error),
    )
    this.#reachable = reachable
    this.#breaker.changed(reachable)
    this.#require(this.health().reachable === reachable, "health says what was told", () => `${reachable}`)
  }

  ask(
    request: StoreRequest,
    run: () => StoreReply | PromiseLike<StoreReply>,
  ): StoreReply | PromiseLike<StoreReply> {
    this.asks += 1
    const call = this.#begin(request)
    const owes = this.#sound && this.#reachable && this.#alone?.owes(request.policies) === true
    const reply = this.#during(call, run)
    this.#judge(call)
    this.#require(call.asked || !call.reachable, "a store that is reachable is asked", () => request.mode)
    if (owes && this.#laws.wholeStore) {
      const what = () => request.policies.map(placeName).join()
      this.#require(call.charged, "what was spent without the store is charged to it", what)
    }
    const settle = (told: StoreReply) => {
      this.#end(call)
      this.#answered(call, request, told)
      return told
    }
    const fail = (error: unknown) => {
      this.#end(call)
      const { then } = this.#limiter
      // what nobody counts is not said to be charged
      const mayFail = then === "throw" || (request.mode === "charge" && typeof then === "string")
      this.#require(mayFail, "the policy for outages decides", () => String(error))
      this.#failed(call, error)
      throw error
    }
    return isPromise(reply) ? reply.then(settle, fail) : settle(reply)
  }

  /** Anything that is no question. */
  order<T>(run: () => T | PromiseLike<T>): T | PromiseLike<T> {
    const call = this.#begin(undefined)
    const done = this.#during(call, run)
    if (!isPromise(done)) {
      this.#end(call)
      return done
    }
    this.#judge(call)
    return done.then(
      (value) => {
        this.#end(call)
        return value
      },
      (error: unknown) => {
        this.#end(call)
        this.#failed(call, error)
        throw error
      },
    )
  }

  leave(turn: Turn, run: () => void | PromiseLike<void>): void | PromiseLike<void> {
    const held = this.#laws.waiting.left(this.owner.name, turn)
    const isStores = held?.answer.source === undefined
    if (!isStores) this.#alone?.leave(turn.policies, turn.at)
    const [left, asked] = this.#orderAndSee(run)
    // while the store is given up, turns pass unused
    if (isStores && !asked) this.#laws.balance.kept(this.owner.name, turn.policies, 1)
    return left
  }

  forget(stateRefs: readonly StateRef[], run: () => void | PromiseLike<void>): void | PromiseLike<void> {
    const done = this.order(run)
    // what could not be reset counts on
    if (isPromise(done)) return done.then(() => this.#alone?.forget(stateRefs))
    this.#alone?.forget(stateRefs)
  }

  settle(settlement: Settlement, run: () => boolean | PromiseLike<boolean>): boolean | PromiseLike<boolean> {
    const { balance } = this.#laws
    balance.settling = true
    const [settled, asked] = this.#orderAndSee(run)
    balance.settling = false
    // what was reserved without the store is settled without it
    if (settled === true && !asked) this.#alone?.settle(settlement)
    return settled
  }

  /** A call of the outage layer to the next one. */
  beneath<T>(run: () => T | PromiseLike<T>, request?: StoreRequest): T | PromiseLike<T> {
    if (request?.mode === "charge" && this.#current !== undefined && request !== this.#current.ask) {
      this.#current.charged = true
      this.#alone?.forget(request.policies)
      return run()
    }
    const call = this.#current
    // what comes later is taken back on nobody's behalf
    if (call === undefined || call.asked) return run()
    call.asked = true
    const reply = run()
    if (!isPromise(reply)) {
      // what is remembered or leased says nothing of the store
      const { source } = (reply ?? {}) as Partial<StoreReply>
      call.atHand = source !== undefined
      if (!call.atHand) this.#sound = true
      this.#told(call, reply)
      return reply
    }
    return reply.then(
      (value) => {
        // a reply that wrote nothing does not say that the store can write again
        if (this.#writes || wrote(request, value)) {
          this.#sound = true
          this.#writes = true
        }
        this.#told(call, value)
        return value
      },
      (error: unknown) => {
        if (!call.over) {
          call.error = error
          if (isUnwritten(error)) this.#writes = false
          this.#fails(isUnwritten(error))
        }
        throw error
      },
    )
  }

  /** Something is given back that is none of a block. */
  passing<T>(run: () => T): T {
    if (this.holdings !== undefined) this.holdings.passing = true
    try {
      return run()
    } finally {
      if (this.holdings !== undefined) this.holdings.passing = false
    }
  }

  checkEnd(): void {
    const { size } = this.#underWay
    this.#require(size === 0, "every call is over", () => `${size} are not`)
    const { degraded, reachable } = this.health()
    this.#require(
      degraded === this.#degraded,
      "what is degraded is counted",
      () => `${degraded}, ${this.#degraded}`,
    )
    const back = reachable || this.closed
    this.#require(back, "a store that is back is used again", () => "it is still given up")
  }

  #orderAndSee<T>(run: () => T | PromiseLike<T>): [done: T | PromiseLike<T>, asked: boolean] {
    let asked = false
    const done = this.order(() => {
      const given = run()
      asked = this.#current?.asked === true
      return given
    })
    return [done, asked]
  }

  #begin(request: StoreRequest | undefined): Call {
    const { timeline, line } = this.#laws
    const call = newCall(request, timeline.now, this.owner.stalled, this.health().reachable, line)
    this.#underWay.add(call)
    return call
  }

  #during<T>(call: Call, run: () => T): T {
    this.#current = call
    try {
      return run()
    } finally {
      this.#current = undefined
    }
  }

  #told(call: Call, reply: unknown): void {
    if (!call.over) {
      call.answer = reply
      call.answered = true
    } else if (this.#limiter.then === "open" && call.ask !== undefined && call.ask.mode !== "charge") {
      // its caller has gone already
      const { granted } = reply as StoreReply
      if (call.ask.mode !== "peek") this.#laws.balance.kept(this.owner.name, call.ask.policies, granted)
    }
  }

  #end(call: Call): void {
    this.#underWay.delete(call)
    call.over = true
    const took = this.#tookOf(call)
    const most = this.#limiter.deadline * 1_000 + LATE
    this.#require(took <= most, "every call is over by its deadline", () => `${took / 1_000} ms`)
    if (isUnanswered(call)) {
      this.#fails(false)
      const since = this.#laws.timeline.now - call.since
      const due = this.#limiter.deadline * 1_000
      this.#require(since >= due - 1, "nobody gives up before the deadline", () => `${since / 1_000} ms`)
    }
  }

  #tookOf({ since, stalled }: Call): number {
    return this.#laws.timeline.now - since - (this.owner.stalled - stalled)
  }

  #answered(call: Call, { policies, mode, note }: StoreRequest, reply: StoreReply): void {
    const { granted, source, at } = reply
    const { admissions, balance, waiting, lease, cache } = this.#laws
    const { then } = this.#limiter
    const from = this.owner.name
    if (source === "fallback") {
      this.#degraded += 1
      this.#require(!call.answered, "degraded only without an answer of the store", () => mode)
      this.#require(
        then !== "throw" &&
          (then !== "closed" || granted === 0) &&
          (mode !== "charge" || typeof then === "object"),
        "the policy for outages decides",
        () => mode,
      )
      if (granted > 0 && mode !== "peek" && mode !== "charge" && isUnwritten(call.error)) {
        this.#laws.refusals.admittedUnwritten(policies, call.since)
      }
    } else {
      this.#require(reply === call.answer, "an answer of the store is passed on", () => mode)
    }
    if (source === "cache") cache.check(this.owner, policies)
    if (source === "lease") lease.check(this.owner, this.#limiter, policies, at)
    if (source === "lease" && mode === "spend") this.holdings?.spent(policies)
    if (granted === 0) return
    if (mode === "book") waiting.booked(this.owner, call.line ?? "", policies, reply)
    if (mode === "book" && source === "fallback") this.#alone?.admit(policies, reply.turn ?? at)
    if (mode !== "spend" && mode !== "reserve") return
    if (source === "fallback") {
      this.#alone?.admit(policies, at, note?.ref.ref.id)
    } else {
      balance.admitted(from, policies)
      admissions.admit(from, at, policies, note?.ref.ref.id)
    }
  }

  /** Looks whether the store was rightly asked, or rightly not. */
  #judge(call: Call): void {
    // in a Cluster there are many breakers
    if (!this.#laws.wholeStore) return
    if (call.asked) this.#breaker.asked()
    else this.#breaker.spared()
    if (call.atHand) this.#breaker.unasked()
  }

  #fails(unwritten: boolean): void {
    this.#sound = false
    this.#breaker.failed(unwritten)
  }

  /** Whether enough calls failed. Those of the last tick have missed their deadline, and their callers are yet to be told. */
  #mayGiveUp(): boolean {
    // in a Cluster there are many breakers, and failures of one are from before another closed
    if (!this.#laws.wholeStore) return true
    const due = this.#laws.timeline.now - this.#limiter.deadline * 1_000 + 1
    const overdue = [...this.#underWay].filter((call) => isUnanswered(call) && call.since <= due)
    return this.#breaker.mayOpen(overdue.length)
  }

  #failed(call: Call, error: unknown): void {
    const code = error instanceof SluiceError ? error.code : String(error)
    this.#laws.book.note(this.owner.name, `${this.#limiter.name} fails with ${code}`)
    this.#require(!call.answered, "an answer of the store is passed on", () => code)
    const beneath = call.error instanceof SluiceError ? call.error.code : undefined
    const expected = !call.asked ? "STORE_REFUSED" : (beneath ?? "STORE_UNKNOWN")
    this.#require(code === expected, "errors say what has happened", () => `${code}, not ${expected}`)
  }

  #require(holds: boolean, law: string, what: () => string): void {
    this.#laws.book.require(holds, law, () => `${this.owner.name} ${this.#limiter.name}: ${what()}`)
  }
}

/** Whether the store was asked and has said nothing yet. */
function isUnanswered({ asked, answered, error }: Call): boolean {
  return asked && !answered && error === undefined
}

/** Whether an error says that the server cannot write just now. */
function isUnwritten(error: unknown): boolean {
  return error instanceof Error && String(error.cause).includes("OOM")
}

/** Whether a reply shows that the store has written. */
function wrote(request: StoreRequest | undefined, reply: unknown): boolean {
  return request !== undefined && request.mode !== "peek" && (reply as StoreReply).granted > 0
}
