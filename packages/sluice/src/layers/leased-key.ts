import type { Level } from "../algorithm.js"
import { countingOf, termsOf } from "../algorithms/index.js"
import { samePolicy } from "../policy.js"
import type { Answer, Part } from "../store.js"
import type { LeaseTerms } from "./lease.js"

/** The largest block: any policy can count that far in one step. */
const MOST_ASKS = 100_000

/** Units that were debited from the store, and have not all been spent. */
export class Block {
  readonly parts: readonly Part[]
  /** What is left for each part. */
  readonly units: number[]
  /** The moment of the debit, by the store's clock. */
  readonly at: number
  /** When it must be given back, by the clock of this process. */
  readonly until: number
  readonly #size: number
  /** Whether it was used since the last look. */
  used = true

  constructor(parts: readonly Part[], { granted, at }: Answer, until: number) {
    this.parts = parts
    this.units = parts.map(({ cost }) => granted * cost)
    this.at = at
    this.until = until
    this.#size = this.units[0] as number
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

  isLow(): boolean {
    return (this.units[0] as number) * 2 <= this.#size
  }

  isEmpty(): boolean {
    return this.units.every((left) => left === 0)
  }
}

/** What this process holds of one key, and how much of it is asked for. */
export class Lease {
  readonly parts: readonly Part[]
  readonly #terms: LeaseTerms
  /** Oldest first. */
  blocks: Block[] = []
  filling = false
  /** Until when no block is taken, because the limit is near. */
  restUntil = 0
  /** Counts how often the key was forgotten. */
  life = 0
  /** Asks since `#since`, and how many a millisecond there were in the stretch before. */
  #asked = 0
  #since: number
  #rate = 0
  #askedLately = true
  /** What the store last said of each part, and when; units that blocks hold count as spent in it. */
  #levels: readonly Level[] = []
  #toldAt = 0
  #remaining: number[] = []

  constructor(parts: readonly Part[], terms: LeaseTerms, now: number) {
    this.parts = parts
    this.#terms = terms
    this.#since = now
  }

  isOf(parts: readonly Part[]): boolean {
    return (
      parts.length === this.parts.length &&
      parts.every(({ scope, policy }, i) => {
        const own = this.parts[i] as Part
        return scope.policy === own.scope.policy && samePolicy(policy, own.policy)
      })
    )
  }

  count(now: number): void {
    this.#asked += 1
    this.#askedLately = true
    const elapsed = now - this.#since
    if (elapsed < this.#terms.time / 2) return
    this.#rate = this.#asked / elapsed
    this.#asked = 0
    this.#since = now
  }

  /** How many asks like this one a block should hold: what half its time needs, a share of what remains. */
  wanted(parts: readonly Part[], now: number): number {
    if (now < this.restUntil || this.#remaining.length === 0) return 0
    const { time, share } = this.#terms
    const lately = this.#asked / Math.max(now - this.#since, time / 10)
    let count = Math.min(Math.ceil((Math.max(this.#rate, lately) * time) / 2), MOST_ASKS)
    for (let i = 0; i < parts.length; i += 1) {
      count = Math.min(count, Math.floor(((this.#remaining[i] as number) * share) / (parts[i] as Part).cost))
    }
    return count
  }

  isLow(): boolean {
    return this.blocks.length === 0 || (this.blocks.length === 1 && (this.blocks[0] as Block).isLow())
  }

  /** Notes what the store said of the key. */
  learn(parts: readonly Part[], { levels, source }: Answer, now: number): void {
    if (source !== undefined) return
    this.#levels = levels
    this.#toldAt = now
    this.#remaining = parts.map(({ policy, cost }, i) => {
      const { algorithm } = countingOf(policy)
      return algorithm.explain(termsOf(policy, cost), levels[i] as Level).remaining
    })
  }

  /** The block that was granted to an ask sent at `sentAt`. */
  blockOf(parts: readonly Part[], answer: Answer, sentAt: number): Block {
    let lasts = this.#terms.time
    for (let i = 0; i < parts.length; i += 1) {
      const { policy, cost } = parts[i] as Part
      const { algorithm } = countingOf(policy)
      lasts = Math.min(lasts, algorithm.holds(termsOf(policy, cost), answer.levels[i] as Level) / 1_000)
    }
    return new Block(parts, answer, sentAt + lasts)
  }

  /** The answer to an ask that a block has covered: what the store last said, less what blocks still hold. */
  answer(parts: readonly Part[], at: number, now: number): Answer {
    const us = Math.max(0, Math.floor((now - this.#toldAt) * 1_000))
    const levels = parts.map(({ policy }, i) => {
      const { algorithm } = countingOf(policy)
      const terms = termsOf(policy, 1)
      let held = 0
      for (const block of this.blocks) held += block.units[i] as number
      return algorithm.later(terms, algorithm.before(terms, this.#levels[i] as Level, held), us)
    })
    return { granted: 1, levels, at, source: "lease" }
  }

  /** Takes away a block that has run out, of time or of units. */
  dropEnded(now: number): Block | undefined {
    const [oldest] = this.blocks
    if (oldest === undefined || (now < oldest.until && !oldest.isEmpty())) return undefined
    return this.blocks.shift()
  }

  /** Takes away what was not used since the last time, and what has run out. */
  dropUnused(now: number): Block[] {
    const dropped = this.blocks.filter((block) => !block.used || now >= block.until)
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

  /** The store has forgotten the key: what was debited is no longer there to be spent or given back. */
  forget(): void {
    this.life += 1
    this.blocks = []
    this.#remaining = []
  }
}
