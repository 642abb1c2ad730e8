import { Background } from "../background.js"
import { monotonic } from "../clock.js"
import { Deferred, isPromise, type Listener, subscribe } from "../deferred.js"
import { SluiceError, shown } from "../errors.js"
import { listener } from "../events.js"
import { getOrAdd } from "../get-or-add.js"
import { soon, warn } from "../runtime.js"
import type { StateRef } from "../state-key.js"
import type { PolicyRequest, Store, StoreReply, StoreRequest, Turn } from "../store.js"
import { Breaker } from "./breaker.js"
import { Deadlines, type Due } from "./deadlines.js"
import { type Fallback, fallbackOf } from "./fallback.js"
import type { OutageChange, OutageSettings } from "./outage-options.js"

/** Whether a limiter reaches its store. */
export interface Health {
  /** Whether every circuit breaker of the store is closed. */
  readonly reachable: boolean
  /** How many decisions were made without the store. */
  readonly degraded: number
}

/** A store that replies within the deadline. */
export interface Guarded extends Store {
  readonly health: Health
}

/**
 * Replies within the deadline, whatever happens to the store. It adds a deadline, a circuit breaker and a fallback:
 *
 * - No call waits past the deadline.
 * - While the circuit is open, no call is made except probes.
 * - The fallback decides as `policy` says.
 *
 * A call that may have run is never repeated. A grant that arrives too late is given back, except under `"open"`: there the
 * request has passed.
 *
 * `shardOf` names the shard of some states, for a store that can fail in part. Each shard has its own circuit breaker, so
 * there should be few.
 */
export function outage(
  store: Store,
  { deadline, policy, onChange }: OutageSettings,
  shardOf?: Store["shardOf"],
): Guarded {
  const deadlines = new Deadlines(deadline)
  const breakers = new Map<string, Breaker>()
  /** How many circuits are open. */
  let missing = 0
  const background = new Background()
  const fallback: Fallback = fallbackOf(policy)
  let degraded = 0

  /** Calls the listener. Its errors become warnings, so that callers still get their replies. */
  const announce = (change: OutageChange) => {
    try {
      onChange(change)
    } catch (error) {
      warn(`outage.onChange threw: ${error instanceof Error ? error.stack : shown(error)}`)
    }
  }

  const newBreaker = () =>
    new Breaker(monotonic, (reachable, error) => {
      missing += reachable ? -1 : 1
      if (reachable && missing === 0) announce({ reachable })
      if (!reachable && missing === 1) announce({ reachable, error })
    })
  const only = shardOf === undefined ? newBreaker() : undefined

  const breakerOf = (stateRefs: readonly StateRef[]): Breaker => {
    if (shardOf === undefined) return only as Breaker
    return getOrAdd(breakers, shardOf(stateRefs), newBreaker)
  }

  const givenUp = (breaker: Breaker) =>
    new SluiceError(
      "STORE_REFUSED",
      "circuit open: after recent failures the store is not called, and probed soon; set outage.then for a fallback",
      {
        cause: breaker.error,
      },
    )

  /** When the store last refused a write, by the monotonic clock. A successful write clears it. */
  let refusedWriteAt = Number.NEGATIVE_INFINITY

  const judge = (breaker: Breaker, error: unknown) => {
    const code = codeOf(error)
    if (ofOneRequest.has(code)) refusedWriteAt = monotonic()
    if (code === CROWDED) breaker.unasked()
    else if (isOutage(error) && !ofOneRequest.has(code)) breaker.failed(error)
    else breaker.succeeded()
  }

  /** Gives back units that were granted too late, after the fallback had decided. */
  const takeBack = (request: StoreRequest, { granted, at, turn, receipt }: StoreReply) => {
    if (granted === 0 || policy === "open") return
    const { policies, mode, note } = request
    background.run(() => {
      if (mode === "book" && turn !== undefined && receipt !== undefined) {
        return store.leave({ policies, at: turn, receipt })
      }
      if (mode === "reserve" && note !== undefined) {
        return store.settle({ ref: note.ref, back: policies, more: [], maxWait: 0 })
      }
      if (mode !== "spend") return
      return store.giveBack(granted === 1 ? policies : policies.map((policy) => times(policy, granted)), at)
    })
  }

  /** The reply of the fallback. Throws the error if there is none. */
  const fallbackReply = <T>(breaker: Breaker, request: StoreRequest | undefined, error: unknown): T => {
    const reply = request && isOutage(error) ? fallback.answer(request, breaker.untilProbe) : undefined
    if (reply === undefined) throw error
    degraded += 1
    return reply as T
  }

  const unanswered = () =>
    new SluiceError("STORE_UNKNOWN", `no answer from the store within ${deadline} ms; the call may have run`)
  const answered = (request: StoreRequest, { granted, source }: StoreReply) => {
    if (granted > 0 && source === undefined && request.mode !== "peek")
      refusedWriteAt = Number.NEGATIVE_INFINITY
  }
  const guardian: Guardian = { deadlines, unanswered, judge, answered, fallbackReply, takeBack }

  /** Waits for a call until its deadline. For a request, an error gets the fallback's reply and a late grant is given back. */
  const inTime = <T>(
    breaker: Breaker,
    called: T | PromiseLike<T>,
    request?: StoreRequest,
  ): T | PromiseLike<T> => {
    if (!isPromise(called)) {
      breaker.succeeded()
      return called
    }
    const awaited = new Awaited<T>(guardian, breaker, request)
    deadlines.add(awaited)
    subscribe(called, awaited)
    return awaited
  }

  /** Charges a store that works again for the units spent locally during the outage, so that they are not admitted twice. */
  const settleUp = (breaker: Breaker, request: StoreRequest) => {
    if (!breaker.isSound || !fallback.owes) return
    // A store that cannot write would refuse the charge, and the local share would start from zero meanwhile.
    if (monotonic() - refusedWriteAt < WRITE_PAUSE) return
    for (const owed of fallback.owed(request.policies)) {
      background.run(async () => {
        const { part: policy, maxWait } = owed
        try {
          const { at, granted } = await store.decide({
            policies: [policy],
            count: 1,
            mode: "charge",
            maxWait,
          })
          // If the charge did not fit completely, it is unknown how much counts. Then no reservation in it is given back.
          if (granted === 1) fallback.noteCharged(owed, at)
        } catch (error) {
          // Only a refused charge is repeated. One that may have run would count twice.
          if (wasRefused(error)) fallback.owe(owed)
        }
      })
    }
  }

  const guard = <T>(stateRefs: readonly StateRef[], call: () => T | PromiseLike<T>): T | PromiseLike<T> => {
    const breaker = breakerOf(stateRefs)
    if (!breaker.admits()) return nextTurn().then(() => Promise.reject(givenUp(breaker)))
    let called: T | PromiseLike<T>
    try {
      called = call()
    } catch (error) {
      judge(breaker, error)
      throw error
    }
    return inTime(breaker, called)
  }

  const guarded: Guarded = {
    ...(store.clock && { clock: store.clock }),
    ...(shardOf && { shardOf }),

    get health() {
      return { reachable: missing === 0, degraded }
    },

    decide(request) {
      const breaker = breakerOf(request.policies)
      if (!breaker.admits()) return nextTurn().then(() => fallbackReply(breaker, request, givenUp(breaker)))
      settleUp(breaker, request)
      let reply: StoreReply | PromiseLike<StoreReply>
      try {
        reply = store.decide(request)
      } catch (error) {
        judge(breaker, error)
        return fallbackReply(breaker, request, error)
      }
      if (!isPromise(reply) && reply.source !== undefined) {
        // A reply of the deny cache or a lease says nothing about the store.
        breaker.unasked()
        return reply
      }
      return inTime(breaker, reply, request)
    },

    giveBack: (policies, at) => guard(policies, () => store.giveBack(policies, at)),

    leave(turn: Turn) {
      if (fallback.leave(turn)) return
      return guard(turn.policies, () => store.leave(turn))
    },

    settle(settlement) {
      const settling = fallback.settle(settlement)
      if (settling === undefined) return guard([settlement.ref], () => store.settle(settlement))
      const { debits } = settling
      const finish = () => {
        settling.finish()
        return true
      }
      if (debits.length === 0) return finish()
      const giveBackOne = async ({ part: policy, at, done }: (typeof debits)[number]) => {
        await store.giveBack([policy], at)
        done()
      }
      const giveBack = async () => {
        // All of them are over before an error is reported: a second try must find what the first one has done.
        const given = await Promise.allSettled(debits.map(giveBackOne))
        for (const each of given) if (each.status === "rejected") throw each.reason
      }
      return Promise.resolve(guard([settlement.ref], giveBack)).then(finish, (error: unknown) => {
        if (wasRefused(error)) settling.undo()
        else settling.finish()
        throw error
      })
    },

    forget(stateRefs) {
      const done = guard(stateRefs, () => store.forget(stateRefs))
      // Only after the store succeeded: a reset that rejects must not have cleared the local state.
      return isPromise(done) ? done.then(() => fallback.forget(stateRefs)) : fallback.forget(stateRefs)
    },
  }
  return guarded
}

/** Milliseconds after a refused write during which the store is not charged for local spends. */
const WRITE_PAUSE = 1_000

/** The error code, at the start of the cause, of a request that was not sent because too many others wait to be sent. */
const CROWDED = "CROWDED"

/**
 * Error codes of a store that works but cannot write at the moment. They do not open the circuit. Otherwise a client could
 * fill the store's memory with made-up keys, and under `"open"` its exhausted keys would pass.
 */
const ofOneRequest: ReadonlySet<string> = new Set(["OOM", "MISCONF", "NOREPLICAS"])

/** Error codes that concern one key. They are not an outage, so the fallback does not decide. */
const ofOneKey: ReadonlySet<string> = new Set(["WRONGTYPE", "UNREADABLE"])

/** Whether the fallback decides after this error. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof SluiceError)) return true
  return (error.code === "STORE_REFUSED" || error.code === "STORE_UNKNOWN") && !ofOneKey.has(codeOf(error))
}

/** The error code at the start of the store's message, which is the cause of the error. Empty if there is none. */
function codeOf(error: unknown): string {
  const cause = error instanceof SluiceError ? error.cause : undefined
  return (cause instanceof Error && /^[A-Z]+\b/.exec(`${cause.message}`)?.[0]) || ""
}

/** Whether an error proves that the call did not run. */
function wasRefused(error: unknown): boolean {
  return error instanceof SluiceError && error.code === "STORE_REFUSED"
}

/** Lets timers and sockets run first. Otherwise a caller that retries in a tight loop would block the reconnection. */
function nextTurn(): Promise<void> {
  return new Promise(soon)
}

function times(policy: PolicyRequest, count: number): PolicyRequest {
  return { ...policy, cost: policy.cost * count }
}

/** The callbacks of a pending call. */
interface Guardian {
  readonly deadlines: Deadlines
  /** Makes the error for a missed deadline. */
  unanswered(): SluiceError
  judge(breaker: Breaker, error: unknown): void
  /** The store replied in time. */
  answered(request: StoreRequest, reply: StoreReply): void
  /** The reply of the fallback. Throws the error if there is none. */
  fallbackReply<T>(breaker: Breaker, request: StoreRequest | undefined, error: unknown): T
  /** Gives back units that were granted too late, after the fallback had decided. */
  takeBack(request: StoreRequest, reply: StoreReply): void
}

/** A pending call with its deadline. */
class Awaited<T> extends Deferred<T> implements Due, Listener<T> {
  declare startedAt: number
  declare before: Due | undefined
  declare after: Due | undefined
  declare private isOver: boolean
  declare private readonly guardian: Guardian
  declare private readonly breaker: Breaker
  declare private readonly request: StoreRequest | undefined

  constructor(guardian: Guardian, breaker: Breaker, request: StoreRequest | undefined) {
    super()
    this.startedAt = 0
    this.before = undefined
    this.after = undefined
    this.isOver = false
    this.guardian = guardian
    this.breaker = breaker
    this.request = request
  }

  onValue(value: T): void {
    this.breaker.succeeded()
    if (!this.isOver) {
      if (listener !== undefined) this.report()
      this.guardian.deadlines.remove(this)
      if (this.request !== undefined) this.guardian.answered(this.request, value as StoreReply)
      this.resolve(value)
    } else if (this.request !== undefined) this.guardian.takeBack(this.request, value as StoreReply)
  }

  onError(error: unknown): void {
    // The missed deadline has already counted as a failure.
    if (this.isOver) return
    if (listener !== undefined) this.report(error)
    this.guardian.deadlines.remove(this)
    this.guardian.judge(this.breaker, error)
    this.answerInstead(error)
  }

  expire(): void {
    this.isOver = true
    const error = this.guardian.unanswered()
    if (listener !== undefined) this.report(error)
    this.breaker.failed(error)
    this.answerInstead(error)
  }

  private report(error?: unknown): void {
    listener?.store(this.request === undefined ? "other" : "decide", this.startedAt, error)
  }

  private answerInstead(error: unknown): void {
    try {
      this.resolve(this.guardian.fallbackReply(this.breaker, this.request, error))
    } catch (thrown) {
      this.reject(thrown)
    }
  }
}
