import type { Level } from "../algorithm.js"
import { countingOf, termsOf } from "../algorithms/index.js"
import { type AnyTwin, twinOf } from "../algorithms/twin.js"
import { allowedBy, type Decision, decide } from "../decision.js"
import type { Charge } from "../policies.js"
import { type Policy, samePolicy } from "../policy.js"
import type { Answer, Part } from "../store.js"
import type { LeaseTerms } from "./lease-terms.js"

/** The largest block: any policy can count that far in one step. */
const MOST_ASKS = 100_000
/** How many blocks a key has at the most: asks of different costs leave rests that only smaller ones fit in. */
const MOST_BLOCKS = 8

/** Units that were debited from the store, and have not all been spent. */
export class Block {
  readonly parts: readonly Part[]
  /** What is left for each part. */
  readonly units: number[]
  /** The moment of the debit, by the store's clock. */
  readonly at: number
  /** From when to when it may be spent, by the clock of this process. */
  readonly since: number
  readonly until: number
  /** What half of it is, for each part. */
  readonly #half: readonly number[]
  /** Whether it was used since the last look. */
  used = true

  constructor(parts: readonly Part[], { granted, at }: Answer, since: number, lasts: number) {
    this.parts = parts
    this.units = parts.map(({ cost }) => granted * cost)
    this.at = at
    this.since = since
    this.until = since + lasts
    this.#half = this.units.map((units) => units / 2)
  }

  covers(parts: readonly Part[]): boolean {
    for (let i = 0; i < parts.length; i += 1) {
      if ((this.units[i] as number) < (parts[i] as Part).cost) return false
    }
    return true
  }

  take(parts: readonly Part[]): void {
    for (let i = 0; i < parts.length; i += 1) {
      this.units[i] = (this.units[i] as number) - (parts[i] as Part).cost
    }
    this.used = true
  }

  /** Takes what an ask needs if all of it is there; with `half`, only while more than half of the block is. */
  spare(parts: readonly Part[], half: boolean): boolean {
    const { units } = this
    for (let i = 0; i < units.length; i += 1) {
      const left = units[i] as number
      if (left < (parts[i] as Part).cost || (half && left <= (this.#half[i] as number))) return false
    }
    // as `take` does, which is one call too many for something that is done so often
    for (let i = 0; i < units.length; i += 1) units[i] = (units[i] as number) - (parts[i] as Part).cost
    this.used = true
    return true
  }

  /** Whether half of it is gone under one of the policies. */
  isLow(): boolean {
    for (let i = 0; i < this.units.length; i += 1) {
      if ((this.units[i] as number) <= (this.#half[i] as number)) return true
    }
    return false
  }

  /** Whether its time is over, or cannot be told because the clock was set back. */
  isOver(now: number): boolean {
    return now >= this.until || now < this.since
  }

  /** Whether it covers no ask any more: every ask costs something under each of the policies. */
  isUsedUp(): boolean {
    return this.units.includes(0)
  }
}

/** What it takes to put answers to the same charges into words, found once: there are millions of them in a second. */
export interface Wording {
  readonly charged: readonly Charge[]
  readonly name: string
  /** Of one unit. */
  readonly terms: unknown
  /** If there is but one policy, and few words may do. */
  readonly explainPlain: AnyTwin["explainPlain"]
}

export function wordingFor(charged: readonly Charge[]): Wording {
  const [{ name, policy }, second] = charged as readonly [Charge, Charge?]
  const { explainPlain } = twinOf(policy)
  const terms = termsOf(policy, 1)
  return { charged, name, terms, explainPlain: second === undefined ? explainPlain : undefined }
}

/** What this process holds of one key, and how much of it is asked for. */
export class Lease {
  readonly parts: readonly Part[]
  /** What it was last found to be of. */
  #foundOf: readonly Part[]
  readonly #terms: LeaseTerms
  /** Oldest first. */
  blocks: Block[] = []
  filling = false
  /** Until when no block is taken, because the limit is near. */
  #restUntil = 0
  /** Counts how often the key was forgotten. */
  life = 0
  /** Asks since `#since`, and how many a millisecond there were in the while before. */
  #asked = 0
  #since: number
  #rate = 0
  #askedLately = true
  /** What the store last said of each part, and when; units that blocks hold count as spent in it. */
  #levels: readonly Level[] = []
  #toldAt = 0
  #remaining: number[] = []
  #spent: number[] = []

  constructor(parts: readonly Part[], terms: LeaseTerms, now: number) {
    this.parts = parts
    this.#foundOf = parts
    this.#terms = terms
    this.#since = now
  }

  isOf(parts: readonly Part[]): boolean {
    if (parts === this.#foundOf) return true
    if (parts.length !== this.parts.length) return false
    for (let i = 0; i < parts.length; i += 1) {
      const { scope, policy } = parts[i] as Part
      const own = this.parts[i] as Part
      if (scope.id !== own.scope.id || !samePolicy(policy, own.policy)) return false
    }
    this.#foundOf = parts
    return true
  }

  count(now: number): void {
    this.#asked += 1
    this.#askedLately = true
    const { time } = this.#terms
    const elapsed = now - this.#since
    if (elapsed >= 0 && elapsed < time / 2) return
    // a clock that was set back tells no rate, and a rest is no longer than it was meant to be
    this.#rate = Math.max(this.#asked / elapsed, 0)
    this.#restUntil = Math.min(this.#restUntil, now + time)
    this.#asked = 0
    this.#since = now
  }

  rest(now: number): void {
    this.#restUntil = now + this.#terms.time
  }

  /**
   * How many asks like this one a block should hold: what half its time needs, so that all blocks together are no
   * more than a share of what remains.
   */
  wanted(parts: readonly Part[], now: number): number {
    if (now < this.#restUntil || this.#remaining.length === 0) return 0
    const { time, share } = this.#terms
    const lately = this.#asked / Math.max(now - this.#since, time / 10)
    let count = Math.min(Math.ceil((Math.max(this.#rate, lately) * time) / 2), MOST_ASKS)
    for (let i = 0; i < parts.length; i += 1) {
      const room = (this.#remaining[i] as number) * share - this.#held(i)
      count = Math.min(count, Math.floor(room / (parts[i] as Part).cost))
    }
    return count
  }

  /** Whether to take another block, ahead of need; `block` is the one that has covered an ask. */
  isLow(block: Block | undefined): boolean {
    if (this.blocks.length >= MOST_BLOCKS) return false
    return block === undefined || (block === this.blocks.at(-1) && block.isLow())
  }

  /** The oldest block that covers an ask. */
  blockFor(parts: readonly Part[]): Block | undefined {
    for (const block of this.blocks) if (block.covers(parts)) return block
    return undefined
  }

  /** What blocks hold of a part. */
  #held(part: number): number {
    let held = 0
    for (let i = 0; i < this.blocks.length; i += 1) held += (this.blocks[i] as Block).units[part] as number
    return held
  }

  /** Notes what the store said of the key. */
  learn(parts: readonly Part[], { levels, source }: Answer, now: number): void {
    if (source !== undefined) return
    this.#levels = levels
    this.#toldAt = now
    const told = parts.map(({ policy, cost }, i) =>
      countingOf(policy).algorithm.explain(termsOf(policy, cost), levels[i] as Level),
    )
    this.#remaining = told.map(({ remaining }) => remaining)
    this.#spent = told.map(({ limit, remaining }) => limit - remaining)
  }

  /** The block that was granted to an ask sent at `sentAt`. */
  blockOf(parts: readonly Part[], answer: Answer, sentAt: number): Block {
    let lasts = this.#terms.time
    for (let i = 0; i < parts.length; i += 1) {
      const { policy, cost } = parts[i] as Part
      const holds = twinOf(policy).holds(termsOf(policy, cost), answer.levels[i] as Level)
      lasts = Math.min(lasts, holds / 1_000)
    }
    return new Block(parts, answer, sentAt, lasts)
  }

  /** The answer to an ask that a block has covered: what the store last said, less what blocks still hold. */
  answer(parts: readonly Part[], at: number, now: number): Answer {
    const levels: Level[] = new Array(parts.length)
    for (let i = 0; i < parts.length; i += 1) levels[i] = this.#levelOf(i, (parts[i] as Part).policy, now)
    return { granted: 1, levels, at, source: "lease" }
  }

  /** The same in words. */
  say({ charged, name, terms, explainPlain }: Wording, at: number, now: number): Decision {
    const told = explainPlain?.(terms, this.#levels[0] as Level, this.#unspent(0), this.#age(now))
    if (told === undefined) return decide(charged, this.answer(charged, at, now))
    return allowedBy(name, told, "lease")
  }

  #levelOf(part: number, policy: Policy, now: number): Level {
    const twin = twinOf(policy)
    const terms = termsOf(policy, 1)
    const level = twin.before(terms, this.#levels[part] as Level, this.#unspent(part))
    return twin.later(terms, level, this.#age(now))
  }

  /** What of a part the store has counted as spent and blocks still hold. */
  #unspent(part: number): number {
    // what a gift or time has brought back to the store is not there twice
    return Math.min(this.#held(part), this.#spent[part] as number)
  }

  /** Microseconds since the store last said something. */
  #age(now: number): number {
    return Math.max(0, Math.floor((now - this.#toldAt) * 1_000))
  }

  /** Takes away a block that has run out, of time or of units. */
  dropEnded(now: number): Block | undefined {
    for (let i = 0; i < this.blocks.length; i += 1) {
      const block = this.blocks[i] as Block
      if (block.isUsedUp() || block.isOver(now)) return this.blocks.splice(i, 1)[0]
    }
    return undefined
  }

  /** Takes away what was not used since the last time, and what has run out. */
  dropUnused(now: number): Block[] {
    const dropped = this.blocks.filter((block) => !block.used || block.isOver(now))
    this.blocks = this.blocks.filter((block) => !dropped.includes(block))
    for (const block of this.blocks) block.used = false
    return dropped
  }

  dropAll(): Block[] {
    return this.blocks.splice(0)
  }

  /** Whether nothing is held and nobody has asked since the last time. */
  isIdle(): boolean {
    const idle = this.blocks.length === 0 && !this.filling && !this.#askedLately
    this.#askedLately = false
    return idle
  }

  /** The store has forgotten the key, or some policies of it: the blocks that were debited before. */
  forget(): Block[] {
    this.life += 1
    this.#remaining = []
    return this.dropAll()
  }
}
