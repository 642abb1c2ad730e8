import type { Level } from "../algorithm.js"
import { algorithmOf, parametersOf } from "../algorithms/index.js"
import { microseconds, monotonic } from "../clock.js"
import { Deferred, isPromise, type Listener, subscribe } from "../deferred.js"
import { flatCopy } from "../flat-copy.js"
import { samePolicy } from "../policy.js"
import { KeyMap, type PolicyRef, type StateRef } from "../state-key.js"
import type { PolicyRequest, Store, StoreReply, StoreRequest } from "../store.js"

/** Longest time in microseconds to remember a denial. Then units given back by another process are seen. */
const LONGEST = 1_000_000
/** How many keys are remembered. A full cache forgets the older half. */
const MOST_KEYS = 10_000
/** Longer keys are not cached, so that clients who make up keys cannot fill the memory. */
const LONGEST_KEY = 256

/** A denial by the store, and until when the store is certain to repeat it. */
interface Denial {
  readonly parts: readonly PolicyRequest[]
  readonly answer: StoreReply
  /** When the reply arrived, in microseconds. */
  readonly toldAt: number
  /** In microseconds, counted from when the request was sent. The store decided at that moment or later. */
  readonly until: number
  /** A request that checks whether an expired denial still holds. */
  probe: PromiseLike<StoreReply> | undefined
  probedAt: number
}

/**
 * Remembers denials of the store, and repeats them without a call for the same or a greater cost under the same policies.
 * A denial is remembered until the cost may pass, for one second at most. One denied key denies a whole request for several keys.
 *
 * A reset, or units given back through this cache, drop the denial at once. After a denial expires, one request probes the
 * store, and similar requests wait for its result.
 */
export function denyCache(store: Store): Store {
  const { clock = monotonic } = store
  const denials = new Recent<Denial>()
  /** Counts resets and units given back. A reply to a request from before the last one is not remembered. */
  let gifts = 0

  /** Remembers a reply if it is a denial and nothing was given back since `giftsThen`. */
  const note: Note = (request, sentAt, giftsThen, reply) => {
    const { policies } = request
    if (ofOneKey(policies)) {
      noteKey(policies, request, sentAt, giftsThen, reply)
      return
    }
    const { granted, levels, at } = reply
    for (const { parts, indices } of byKey(policies)) {
      const own = indices.map((i) => levels[i] as Level)
      // A key with room was not the reason for the denial.
      const denied = granted < request.count && waitOf(parts, own) > 0
      noteKey(parts, request, sentAt, giftsThen, { granted: denied ? 0 : request.count, levels: own, at })
    }
    // Units spent and given back within the request may have denied other requests. Do not remember their replies.
    if (reply.gaveBack === true) gifts += 1
  }

  /** Remembers a denial of one key. */
  const noteKey = (
    policies: readonly PolicyRequest[],
    { count }: StoreRequest,
    sentAt: number,
    giftsThen: number,
    reply: StoreReply,
  ) => {
    const first = policies[0] as PolicyRequest
    if (reply.granted === count || gifts !== giftsThen || first.key.length > LONGEST_KEY) {
      denials.delete(first.ref, first.key)
      return
    }
    const toldAt = microseconds(clock)
    // `min`: if the clock was set back meanwhile, `sentAt` lies in the future and the denial would last too long.
    const until = Math.min(sentAt, toldAt) + Math.min(waitOf(policies, reply.levels), LONGEST)
    const key = flatCopy(first.key)
    const denial = {
      parts: policies.map((part) => ({ ...part, key })),
      answer: reply,
      toldAt,
      until,
      probe: undefined,
      probedAt: 0,
    }
    denials.set(first.ref, key, denial)
  }

  /** The remembered denial that covers a request for one key. */
  const knownOf = (parts: readonly PolicyRequest[]): Found | undefined => {
    const first = parts[0] as PolicyRequest
    const known = denials.get(first.ref, first.key)
    if (known === undefined || !covers(known, parts)) return undefined
    return { known, recall: (now) => recall(known, parts, now) }
  }

  /** A remembered denial of one key among several, preferably one that still holds. The levels of other keys stay empty. */
  const knownAmong = (policies: readonly PolicyRequest[], now: number): Found | undefined => {
    let former: Found | undefined
    for (const { parts, indices } of byKey(policies)) {
      const found = knownOf(parts)
      if (found === undefined) continue
      const spread = (now: number): StoreReply => {
        const reply = found.recall(now)
        const levels: Level[] = new Array(policies.length)
        for (const [j, i] of indices.entries()) levels[i] = reply.levels[j] as Level
        return { ...reply, levels }
      }
      former = { known: found.known, recall: spread }
      if (holds(found.known, now)) return former
    }
    return former
  }

  const callStore = (
    request: StoreRequest,
    sentAt: number,
    known: Denial | undefined,
  ): StoreReply | PromiseLike<StoreReply> => {
    const giftsThen = gifts
    const reply = store.decide(request)
    if (!isPromise(reply)) {
      note(request, sentAt, giftsThen, reply)
      return reply
    }
    const noted = new Noted(note, request, sentAt, giftsThen)
    subscribe(reply, noted)
    if (known === undefined) return noted
    known.probedAt = sentAt
    known.probe = noted.then(undefined, (error: unknown) => {
      const { ref, key } = known.parts[0] as PolicyRequest
      denials.delete(ref, key)
      throw error
    })
    return known.probe
  }

  const decide = (request: StoreRequest, hasWaited: boolean): StoreReply | PromiseLike<StoreReply> => {
    const { policies, mode } = request
    if (mode === "charge") return withGift(policies, () => store.decide(request))
    if (mode !== "spend" || policies.length === 0) return store.decide(request)
    const now = microseconds(clock)
    const found = ofOneKey(policies) ? knownOf(policies) : knownAmong(policies, now)
    if (found === undefined) return callStore(request, now, undefined)
    const { known } = found
    if (holds(known, now)) return found.recall(now)
    // A request waits for one probe only. If denials expire before they arrive, repeated waiting would form a queue.
    const hangs = now - known.probedAt > LONGEST
    if (known.probe === undefined || hangs || hasWaited) return callStore(request, now, known)
    const again = () => decide(request, true)
    return known.probe.then(again, again)
  }

  /** Drops the denials of these states before and after the change, because the store may repeat them in between. */
  const withGift = <T>(
    stateRefs: readonly StateRef[],
    give: () => T | PromiseLike<T>,
  ): T | PromiseLike<T> => {
    const drop = () => {
      gifts += 1
      for (const { ref, key } of stateRefs) denials.delete(ref, key)
    }
    drop()
    const given = give()
    if (isPromise(given)) given.then(drop, drop)
    return given
  }

  return {
    decide: (request) => decide(request, false),
    giveBack: (policies, at) => withGift(policies, () => store.giveBack(policies, at)),
    leave: (turn) => withGift(turn.policies, () => store.leave(turn)),
    settle(settlement) {
      const { ref, back, more } = settlement
      return withGift([ref, ...back, ...more], () => store.settle(settlement))
    },
    forget: (stateRefs) => withGift(stateRefs, () => store.forget(stateRefs)),
    clock,
  }
}

/** A remembered denial, and a function that makes the reply to a request from it. */
interface Found {
  readonly known: Denial
  recall(now: number): StoreReply
}

type Note = (request: StoreRequest, sentAt: number, giftsThen: number, reply: StoreReply) => void

/** The reply to a request. It is noted before the caller gets it. */
class Noted extends Deferred<StoreReply> implements Listener<StoreReply> {
  declare private readonly note: Note
  declare private readonly request: StoreRequest
  declare private readonly sentAt: number
  declare private readonly giftsThen: number

  constructor(note: Note, request: StoreRequest, sentAt: number, giftsThen: number) {
    super()
    this.note = note
    this.request = request
    this.sentAt = sentAt
    this.giftsThen = giftsThen
  }

  onValue(reply: StoreReply): void {
    try {
      this.note(this.request, this.sentAt, this.giftsThen, reply)
      this.resolve(reply)
    } catch (error) {
      // The clock may throw. Then only this request fails.
      this.reject(error)
    }
  }

  onError(error: unknown): void {
    this.reject(error)
  }
}

/** Whether the denial certainly still holds. After the clock was set back, that is unknown. */
function holds({ toldAt, until }: Denial, now: number): boolean {
  return now >= toldAt && now < until
}

/** Whether a request for the same key is denied for as long as the remembered one. */
function covers(known: Denial, policies: readonly PolicyRequest[]): boolean {
  if (policies.length !== known.parts.length) return false
  for (let i = 0; i < policies.length; i += 1) {
    const { ref, policy, cost } = policies[i] as PolicyRequest
    const denied = known.parts[i] as PolicyRequest
    const dearEnough = cost === denied.cost || (cost > denied.cost && algorithmOf(policy).readsAnyCost)
    if (ref.id !== denied.ref.id || !dearEnough || !samePolicy(policy, denied.policy)) return false
  }
  return true
}

/** The remembered denial as a reply, with its levels updated to `now`. */
function recall(
  { answer: reply, toldAt }: Denial,
  policies: readonly PolicyRequest[],
  now: number,
): StoreReply {
  const levels: Level[] = new Array(policies.length)
  for (let i = 0; i < policies.length; i += 1) {
    const { policy, cost } = policies[i] as PolicyRequest
    levels[i] = algorithmOf(policy).levelLater(
      parametersOf(policy, cost),
      reply.levels[i] as Level,
      now - toldAt,
    )
  }
  return { granted: 0, levels, at: reply.at, source: "cache" }
}

/** Whether all policies belong to one key of one limiter. */
function ofOneKey(policies: readonly PolicyRequest[]): boolean {
  if (policies.length === 1) return true
  const [first] = policies as [PolicyRequest]
  return policies.every(({ ref, key }) => key === first.key && ref.limiter === first.ref.limiter)
}

/** The policies of one key and limiter, with their indices in the request. */
interface OfOneKey {
  readonly parts: PolicyRequest[]
  readonly indices: number[]
}

/** Groups the policies of a request by limiter and key. */
function byKey(policies: readonly PolicyRequest[]): Iterable<OfOneKey> {
  const found = new KeyMap<OfOneKey>()
  for (const [i, part] of policies.entries()) {
    let group = found.get(part.ref, part.key)
    if (group === undefined) {
      group = { parts: [], indices: [] }
      found.set(part.ref, part.key, group)
    }
    group.parts.push(part)
    group.indices.push(i)
  }
  return found.values()
}

/** Microseconds until all policies grant their cost. */
function waitOf(policies: readonly PolicyRequest[], levels: readonly Level[]): number {
  return Math.max(
    ...policies.map(({ policy, cost }, i) =>
      algorithmOf(policy).wait(parametersOf(policy, cost), levels[i] as Level),
    ),
  )
}

/** A map of the most recent values. When it is full, the older half is forgotten. */
class Recent<Value> {
  #young = new KeyMap<Value>()
  #old = new KeyMap<Value>()

  get(ref: PolicyRef, key: string): Value | undefined {
    return this.#young.get(ref, key) ?? this.#old.get(ref, key)
  }

  set(ref: PolicyRef, key: string, value: Value): void {
    this.#old.delete(ref, key)
    this.#young.set(ref, key, value)
    if (this.#young.size < MOST_KEYS / 2) return
    this.#old = this.#young
    this.#young = new KeyMap()
  }

  delete(ref: PolicyRef, key: string): void {
    this.#young.delete(ref, key)
    this.#old.delete(ref, key)
  }
}
