import { algorithmOf, parametersOf } from "../../algorithms/index.js"
import { Deferred, microtask } from "../../deferred.js"
import { SluiceError } from "../../errors.js"
import type { PolicyRequest, StoreReply } from "../../store.js"
import { tagOf } from "./keys.js"
import { type LuaRequest, type QueuedRequest, stateOf, workOf } from "./protocol.js"

/** Answers a batch with one call, and says when that is over. It never throws. */
export type SendBatch = (batch: readonly Coalesced[], done: () => void) => void

/** Microseconds of Redis' time that one call takes, at most, as estimated. */
const MOST_WORK = 400
/** How often the work of a spend each mode makes, as measured in batches of 20. */
const WORK_OF: Readonly<Record<LuaRequest["mode"], number>> = {
  spend: 1,
  peek: 1,
  give: 2,
  charge: 3,
  reserve: 3,
  settle: 3,
  forget: 3,
  inspect: 3,
  book: 5,
  leave: 8,
}
/** How many requests wait for a call, at most. */
const MOST_WAITING = 100_000

/** Requests that share a call. */
interface Batch {
  readonly requests: Coalesced[]
  /**
   * The last of them by key, whatever its limiter: requests of one key keep their order. Each batch has a map of its own, because
   * V8 links the old tables of a long-lived map to the new ones. Then garbage survives, which cost a third of the throughput
   * at 256 in flight, and tripled the p99.
   */
  readonly lastByKey: Map<string, Coalesced>
  work: number
}

/**
 * Groups requests into calls. Requests of one tick share a call, and so do those that arrive while the window of calls is full. Equal
 * requests become one with a count. There is no timer.
 */
export function batcher(
  send: SendBatch,
  window: Pick<CallWindow, "hasRoom" | "open" | "close"> = new CallWindow(),
  waiting = { requests: 0 },
): (request: LuaRequest) => Deferred<StoreReply> {
  /** In the order in which they leave. New requests join the last one. */
  const queue: Batch[] = []
  let isScheduled = false

  const schedule = () => {
    if (isScheduled) return
    // Schedule before setting the flag: if scheduling throws, the flag must stay clear.
    microtask.then(flush)
    isScheduled = true
  }

  const flush = () => {
    isScheduled = false
    const now = performance.now()
    while (queue.length > 0 && window.hasRoom(now)) {
      const { requests } = queue.shift() as Batch
      for (const request of requests) {
        waiting.requests -= request.size
        request.sentAt = now
      }
      window.open(now)
      send(requests, () => {
        window.close(now, performance.now())
        // Callers that were just resolved ask again in this tick. Let them join the next call.
        if (queue.length > 0) microtask.then(schedule)
      })
    }
  }

  return (request) => {
    if (waiting.requests >= MOST_WAITING) return refused()
    schedule()
    waiting.requests += 1
    let batch = queue.at(-1)
    const { equal, repeatsKey } = findEqual(batch, request)
    if (equal !== undefined) return equal.add()
    const work = requestWork(request)
    const fits = batch !== undefined && batch.work + work <= MOST_WORK
    if (batch === undefined || !fits) {
      batch = { requests: [], lastByKey: new Map(), work: 0 }
      queue.push(batch)
    }
    const queued = new Coalesced(request, fits && repeatsKey)
    batch.requests.push(queued)
    batch.work += work
    for (const { key } of request.policies) batch.lastByKey.set(key, queued)
    return queued
  }
}

/** The request of a batch that is equal and behind all others of its keys, and whether the batch has any of its keys. */
function findEqual(
  batch: Batch | undefined,
  request: LuaRequest,
): { equal: Coalesced | undefined; repeatsKey: boolean } {
  const last = batch?.lastByKey.get(stateOf(request).key)
  let isLast = last !== undefined
  let repeatsKey = isLast
  const { policies } = request
  for (let i = 1; i < policies.length; i += 1) {
    const other = batch?.lastByKey.get((policies[i] as PolicyRequest).key)
    isLast &&= other === last
    repeatsKey ||= other !== undefined
  }
  return { equal: isLast && last?.accepts(request) ? last : undefined, repeatsKey }
}

function requestWork({ policies, mode }: LuaRequest): number {
  let work = 0
  for (let i = 0; i < policies.length; i += 1) {
    work += workOf((policies[i] as PolicyRequest).policy)
  }
  return work * WORK_OF[mode]
}

function refused(): Deferred<StoreReply> {
  const reply = new Deferred<StoreReply>()
  const message = `${MOST_WAITING} requests wait for Redis already; retry when some are answered`
  // The outage layer reads the cause: a crowded queue is no failure of the store.
  reply.reject(new SluiceError("STORE_REFUSED", message, { cause: new Error("CROWDED") }))
  return reply
}

/** Groups only requests whose keys share a hash tag, because a Cluster answers those in one call. */
export function batcherByTag(send: SendBatch): (request: LuaRequest) => Deferred<StoreReply> {
  const batchers = new Map<string, ReturnType<typeof batcher>>()
  const waiting = { requests: 0 }
  return (request) => {
    const tag = tagOf(stateOf(request))
    let batch = batchers.get(tag)
    if (batch === undefined) {
      batch = batcher(send, new CallWindow(), waiting)
      batchers.set(tag, batch)
    }
    return batch(request)
  }
}

/** How many equal requests become one, at most. Any policy can count that far in one step. */
const MOST_EQUAL = 4_096

/** Equal requests as one request with a count, granted in the order of arrival. It is itself the reply to the first. */
export class Coalesced extends Deferred<StoreReply> implements QueuedRequest {
  declare readonly policies: readonly PolicyRequest[]
  declare readonly mode: LuaRequest["mode"]
  declare readonly note: LuaRequest["note"]
  declare readonly repeatsKey: boolean
  /** How many requests it stands for. */
  declare size: number
  /** When it was sent first, by `performance.now()`. */
  declare sentAt: number
  declare private readonly each: LuaRequest["count"]
  declare private others: Deferred<StoreReply>[] | undefined

  constructor({ policies, mode, note, count }: LuaRequest, repeatsKey: boolean) {
    super()
    this.policies = policies
    this.mode = mode
    this.note = note
    this.each = count
    this.repeatsKey = repeatsKey
    this.size = 1
    this.sentAt = 0
    this.others = undefined
  }

  get count(): LuaRequest["count"] {
    return this.mode === "spend" && this.each === 1 ? this.size : this.each
  }

  /** Whether a request asks the same of the same states, once. */
  accepts({ policies, mode, count }: LuaRequest): boolean {
    return (
      mode === this.mode &&
      (mode === "spend" || mode === "peek") &&
      count === 1 &&
      this.each === 1 &&
      this.size < MOST_EQUAL &&
      areEqual(policies, this.policies)
    )
  }

  /** Adds an equal request. */
  add(): Deferred<StoreReply> {
    const reply = new Deferred<StoreReply>()
    this.others ??= []
    this.others.push(reply)
    this.size += 1
    return reply
  }

  /** Resolves each request with its part of the reply to all of them. */
  answer(reply: StoreReply): void {
    const { others } = this
    if (others === undefined || this.mode === "peek") {
      this.resolve(reply)
      if (others !== undefined) for (const other of others) other.resolve(reply)
      return
    }
    this.resolve(this.replyTo(0, reply))
    for (let i = 0; i < others.length; i += 1) others[i]?.resolve(this.replyTo(i + 1, reply))
  }

  fail(error: SluiceError): void {
    this.reject(error)
    if (this.others !== undefined) for (const other of this.others) other.reject(error)
  }

  /** The reply to one request: the level after its own grant, and before the grants behind it. */
  private replyTo(index: number, { granted, levels, at }: StoreReply): StoreReply {
    const grantsBehind = granted - 1 - index
    if (grantsBehind < 0) return { granted: 0, levels, at }
    const own = this.policies.map(({ policy, cost }, i) =>
      algorithmOf(policy).levelBefore(
        parametersOf(policy, cost),
        levels[i] as readonly number[],
        grantsBehind,
      ),
    )
    return { granted: 1, levels: own, at }
  }
}

function areEqual(a: readonly PolicyRequest[], b: readonly PolicyRequest[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i += 1) {
    const one = a[i] as PolicyRequest
    const other = b[i] as PolicyRequest
    if (one.policy !== other.policy || one.cost !== other.cost) return false
    if (one.key !== other.key || one.ref.id !== other.ref.id) return false
  }
  return true
}

/** The fewest and the most calls in flight. */
const LEAST = 2
const MOST = 64
/** The window grows while Redis has fewer calls than this to work on, and shrinks while it has more. */
const FEW_QUEUED = 2
const MANY_QUEUED = 4
/** Milliseconds after which the shortest call time is measured anew: the network may have changed. */
const REMEMBER = 10_000
/** Milliseconds after which a call without a reply gives up its place, and the window shrinks. */
const OVERDUE = 1_000

/**
 * How many calls may be in flight. The rule is TCP Vegas': the shortest call time is the network's share, the rest is time in
 * Redis' queue. `inFlight × (1 - shortest / measured)` estimates how many of our calls wait there. The window keeps that between two
 * and four, which keeps Redis busy: on loopback that is about four calls, over a slow network as many as the distance holds.
 */
export class CallWindow {
  size = 4
  #shortest = Number.POSITIVE_INFINITY
  #measuredAt = 0
  readonly #sentAt: number[] = []

  get inFlight(): number {
    return this.#sentAt.length
  }

  hasRoom(now: number): boolean {
    while (this.#sentAt.length >= this.size) {
      if (now - (this.#sentAt[0] as number) <= OVERDUE) return false
      this.#sentAt.shift()
      this.#shrink()
    }
    return true
  }

  /** Notes that a call leaves. */
  open(now: number): void {
    this.#sentAt.push(now)
  }

  /** Notes that the call which left at `sentAt` is over, and adapts the window. */
  close(sentAt: number, now: number): void {
    const index = this.#sentAt.indexOf(sentAt)
    if (index < 0) return
    const inFlight = this.#sentAt.length
    this.#sentAt.splice(index, 1)
    const time = Math.max(now - sentAt, 0.001)
    if (time < this.#shortest || now - this.#measuredAt > REMEMBER) {
      this.#shortest = time
      this.#measuredAt = now
    }
    const queued = inFlight * (1 - this.#shortest / time)
    if (queued > MANY_QUEUED) this.#shrink()
    else if (queued < FEW_QUEUED && inFlight >= this.size) this.size = Math.min(this.size + 1, MOST)
  }

  #shrink(): void {
    this.size = Math.max(this.size - 1, LEAST)
  }
}
