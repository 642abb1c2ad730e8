import type { Level } from "../algorithm.js"
import { countingOf, termsOf } from "../algorithms/index.js"
import { twinOf } from "../algorithms/twin.js"
import { type Clock, microseconds } from "../clock.js"
import { type Decision, decide } from "../decision.js"
import { isPromise, Later, type Listener, tell } from "../later.js"
import type { Charge } from "../policies.js"
import { samePolicy } from "../policy.js"
import { offerShortcut } from "../shortcut.js"
import type { Place, Scope } from "../state-key.js"
import type { Answer, Ask, Part, Store } from "../store.js"
import { anewBy, byStretch } from "../stretch.js"
import { PlaceMap } from "./place-map.js"

/** Microseconds: for how long a denial is remembered at the most, so that a gift elsewhere is soon seen. */
const LONGEST = 1_000_000
/** How many keys it remembers at the most; then it forgets the older half of them. */
const MOST_KEYS = 10_000
/** Longer keys are not remembered: whoever makes them up does not choose how much memory they take. */
const LONGEST_KEY = 256
/** Microseconds for which a denial may be said in the same words: a hot key is asked for hundreds of times in them. */
const SAME_WORDS = 100

/** What a store denied, and for how long it is certain to deny it still. */
interface Denial {
  readonly parts: readonly Part[]
  readonly answer: Answer
  /** Microseconds, as is `until`. */
  readonly toldAt: number
  /** Counted from when it was asked: when it was decided is not known any better. */
  readonly until: number
  /** An ask that looks whether it still holds, once it may not. */
  probe: PromiseLike<Answer> | undefined
  probedAt: number
  /** How it was last put into words. */
  said: Words | undefined
}

/** What a denial was to some charges that it covers. */
interface Words {
  readonly to: readonly Charge[]
  /** Microseconds, as is `until`: it was the same all the time. */
  readonly from: number
  readonly until: number
  readonly decision: Decision
}

const caches = new WeakMap<Store, Store>()

/** The store with its denials remembered: one cache per store, whoever asks for it. */
export function denyCache(store: Store): Store {
  let cache = caches.get(store)
  if (cache === undefined) {
    cache = cacheOver(store)
    caches.set(store, cache)
  }
  return cache
}

/**
 * Answers from memory what the store has just denied: the same or a greater cost under the same policies, until it
 * may pass, for a second at the most. A gift or a reset through this cache ends that. Once a denial has run out, one
 * ask goes to look, and those that would be denied with it wait for what it finds.
 */
function cacheOver(store: Store): Store {
  const { clock = byStretch } = store
  const denials = new Recent<Denial>()
  /** Grows with every gift and reset: what was asked before one is not remembered after it. */
  let gifts = 0

  /** Remembers an answer if it is a denial, and nothing was given since `giftsThen`. */
  const note: Note = ({ parts, count }, askedAt, giftsThen, answer) => {
    const first = parts[0] as Part
    if (!ofOneKey(parts)) {
      // some of it may have been spent and given back, beneath this cache: where keys are in different places
      if (answer.granted < count) gifts += 1
      for (const { scope, key } of parts) denials.delete(scope, key)
      return
    }
    if (answer.granted === count || gifts !== giftsThen || first.key.length > LONGEST_KEY) {
      denials.delete(first.scope, first.key)
      return
    }
    // not before it was decided: the stretch at hand may have begun before that
    const toldAt = timeBy(anewBy(clock))
    // what was asked by a clock that has been set back since would be remembered for as long as that
    const until = Math.min(askedAt, toldAt) + Math.min(waitOf(parts, answer), LONGEST)
    const denial = { parts, answer, toldAt, until, probe: undefined, probedAt: 0, said: undefined }
    denials.set(first.scope, first.key, denial)
  }

  const askStore = (ask: Ask, askedAt: number, known: Denial | undefined): Answer | PromiseLike<Answer> => {
    const giftsThen = gifts
    const answer = store.ask(ask)
    if (!isPromise(answer)) {
      note(ask, askedAt, giftsThen, answer)
      return answer
    }
    const noted = new Noted(note, ask, askedAt, giftsThen)
    tell(answer, noted)
    if (known === undefined) return noted
    known.probedAt = askedAt
    known.probe = noted.then(undefined, (error: unknown) => {
      const { scope, key } = ask.parts[0] as Part
      denials.delete(scope, key)
      throw error
    })
    return known.probe
  }

  const ask = (asked: Ask, hasWaited: boolean): Answer | PromiseLike<Answer> => {
    const { parts, mode } = asked
    if (mode === "charge") return withGift(parts, () => store.ask(asked))
    if (mode !== "spend" || parts.length === 0) return store.ask(asked)
    const first = parts[0] as Part
    const known = denials.get(first.scope, first.key)
    const now = timeBy(clock)
    if (known === undefined || !covers(known, parts) || !ofOneKey(parts)) {
      return askStore(asked, now, undefined)
    }
    if (holds(known, now)) return recall(known, parts, now)
    // who has waited once asks: where denials are over when they arrive, waiting again would form a queue
    const hangs = now - known.probedAt > LONGEST
    if (known.probe === undefined || hangs || hasWaited) return askStore(asked, now, known)
    const again = () => ask(asked, true)
    return known.probe.then(again, again)
  }

  /** Drops what is known of the places, now and when it is changed: until then the store denies as before. */
  const withGift = <T>(places: readonly Place[], give: () => T | PromiseLike<T>): T | PromiseLike<T> => {
    const drop = () => {
      gifts += 1
      for (const { scope, key } of places) denials.delete(scope, key)
    }
    drop()
    const given = give()
    if (isPromise(given)) given.then(drop, drop)
    return given
  }

  const cache: Store = {
    ask: (asked) => ask(asked, false),
    giveBack: (parts, at) => withGift(parts, () => store.giveBack(parts, at)),
    leave: (turn) => withGift(turn.parts, () => store.leave(turn)),
    settle: (settlement) => withGift([settlement.place], () => store.settle(settlement)),
    forget: (places) => withGift(places, () => store.forget(places)),
    clock,
  }
  return offerShortcut(cache, (charged) => {
    const { scope } = charged[0] as Charge
    return (key) => {
      const known = denials.get(scope, key)
      if (known === undefined || (known.said?.to !== charged && !covers(known, charged))) return undefined
      const now = timeBy(clock)
      return holds(known, now) ? say(known, charged, now) : undefined
    }
  })
}

type Note = (ask: Ask, askedAt: number, giftsThen: number, answer: Answer) => void

/** An answer that is noted before it is handed on. */
class Noted extends Later<Answer> implements Listener<Answer> {
  declare private readonly note: Note
  declare private readonly ask: Ask
  declare private readonly askedAt: number
  declare private readonly giftsThen: number

  constructor(note: Note, ask: Ask, askedAt: number, giftsThen: number) {
    super()
    this.note = note
    this.ask = ask
    this.askedAt = askedAt
    this.giftsThen = giftsThen
  }

  told(answer: Answer): void {
    try {
      this.note(this.ask, this.askedAt, this.giftsThen, answer)
      this.resolve(answer)
    } catch (error) {
      // by a clock that fails: nobody else's answer is lost for it
      this.reject(error)
    }
  }

  failed(error: unknown): void {
    this.reject(error)
  }
}

/** Microseconds by a clock; ours needs no checks. */
function timeBy(clock: Clock): number {
  return clock === byStretch ? Math.round(byStretch() * 1_000) : microseconds(clock)
}

/** Whether it certainly holds still; a clock that was set back says nothing of that. */
function holds({ toldAt, until }: Denial, now: number): boolean {
  return now >= toldAt && now < until
}

/** Whether an ask for these parts, of its key, is denied as long as the remembered one is. */
function covers(known: Denial, parts: readonly Part[]): boolean {
  if (parts.length !== known.parts.length) return false
  for (let i = 0; i < parts.length; i += 1) {
    const { scope, policy, cost } = parts[i] as Part
    const denied = known.parts[i] as Part
    const dearEnough = cost === denied.cost || (cost > denied.cost && twinOf(policy).anyCost)
    if (scope.id !== denied.scope.id || !dearEnough || !samePolicy(policy, denied.policy)) return false
  }
  return true
}

/** The denial as it stands now. */
function recall({ answer, toldAt }: Denial, parts: readonly Part[], now: number): Answer {
  const levels: Level[] = new Array(parts.length)
  for (let i = 0; i < parts.length; i += 1) {
    const { policy, cost } = parts[i] as Part
    levels[i] = twinOf(policy).later(termsOf(policy, cost), answer.levels[i] as Level, now - toldAt)
  }
  return { granted: 0, levels, at: answer.at, source: "cache" }
}

/** The same in words, which are found anew only when they may have changed. */
function say(known: Denial, charged: readonly Charge[], now: number): Decision {
  if (charged.length > 1) return decide(charged, recall(known, charged, now))
  let { said } = known
  if (said === undefined || said.to !== charged || now < said.from || now > said.until) {
    said = wordsFor(known, charged, now)
    known.said = said
  }
  // one for each who asks, to do with as they like; spelled out, for to spread it takes twice as long
  const { allowed, policy, limit, remaining, retryAfter, resetAfter, source, degraded } = said.decision
  return { allowed, policy, limit, remaining, retryAfter, resetAfter, source, degraded }
}

function wordsFor(known: Denial, charged: readonly Charge[], now: number): Words {
  const decision = decide(charged, recall(known, charged, now))
  const next = decide(charged, recall(known, charged, now + SAME_WORDS))
  // with time all of these go one way only: what they are at both ends they are between
  const same =
    decision.remaining === next.remaining &&
    decision.retryAfter === next.retryAfter &&
    decision.resetAfter === next.resetAfter
  return { to: charged, from: now, until: same ? now + SAME_WORDS : now, decision }
}

/** Whether a gift to the first of the parts is seen by all of them. */
function ofOneKey(parts: readonly Part[]): boolean {
  if (parts.length === 1) return true
  const [first] = parts as [Part]
  return parts.every(({ scope, key }) => key === first.key && scope.limiter === first.scope.limiter)
}

/** Microseconds until all parts pass. */
function waitOf(parts: readonly Part[], { levels }: Answer): number {
  return Math.max(
    ...parts.map(({ policy, cost }, i) =>
      countingOf(policy).algorithm.wait(termsOf(policy, cost), levels[i] as Level),
    ),
  )
}

/** Values by place, the older half of them forgotten when they become too many. */
class Recent<Value> {
  #young = new PlaceMap<Value>()
  #old = new PlaceMap<Value>()

  get(scope: Scope, key: string): Value | undefined {
    return this.#young.get(scope, key) ?? this.#old.get(scope, key)
  }

  set(scope: Scope, key: string, value: Value): void {
    this.#old.delete(scope, key)
    this.#young.set(scope, key, value)
    if (this.#young.size < MOST_KEYS / 2) return
    this.#old = this.#young
    this.#young = new PlaceMap()
  }

  delete(scope: Scope, key: string): void {
    this.#young.delete(scope, key)
    this.#old.delete(scope, key)
  }
}
