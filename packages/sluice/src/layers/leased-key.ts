import type { Level } from "../algorithm.js"
import { algorithmOf, parametersOf } from "../algorithms/index.js"
import { flatCopy } from "../flat-copy.js"
import { type Policy, samePolicy } from "../policy.js"
import type { PolicyRequest, StoreReply } from "../store.js"
import type { LeaseSettings } from "./lease-options.js"

/** The largest block, in requests. Every policy can count that far in one step. */
const MOST_REQUESTS = 100_000
/** The most blocks per key. With different costs, blocks keep rests that only smaller requests can use. */
const MOST_BLOCKS = 8

/** Units that were debited from the store, to be spent locally. */
export class Block {
  readonly parts: readonly PolicyRequest[]
  /** The units left for each policy. */
  readonly units: number[]
  /** The time of the debit, by the store's clock. */
  readonly at: number
  /** The time in which it may be spent, by the clock of this process. */
  readonly since: number
  readonly until: number
  /** Half of the initial units of each policy. */
  readonly #half: readonly number[]
  /** Whether it was used since the last sweep. */
  used = true

  constructor(policies: readonly PolicyRequest[], { granted, at }: StoreReply, since: number, lasts: number) {
    this.parts = policies
    this.units = policies.map(({ cost }) => granted * cost)
    this.at = at
    this.since = since
    this.until = since + lasts
    this.#half = this.units.map((units) => units / 2)
  }

  covers(policies: readonly PolicyRequest[]): boolean {
    for (let i = 0; i < policies.length; i += 1) {
      if ((this.units[i] as number) < (policies[i] as PolicyRequest).cost) return false
    }
    return true
  }

  take(policies: readonly PolicyRequest[]): void {
    for (let i = 0; i < policies.length; i += 1) {
      this.units[i] = (this.units[i] as number) - (policies[i] as PolicyRequest).cost
    }
    this.used = true
  }

  /** Whether at least half is spent under any policy. */
  isLow(): boolean {
    for (let i = 0; i < this.units.length; i += 1) {
      if ((this.units[i] as number) <= (this.#half[i] as number)) return true
    }
    return false
  }

  /** Whether its time is over, or unknown because the clock was set back. */
  isOver(now: number): boolean {
    return now >= this.until || now < this.since
  }

  /** Whether it covers no further request. Every request costs at least one unit under each policy. */
  isUsedUp(): boolean {
    return this.units.includes(0)
  }
}

/** The blocks of one key in this process, and the rate of its requests. */
export class Lease {
  readonly parts: readonly PolicyRequest[]
  readonly #key: string
  readonly #settings: LeaseSettings
  /** Oldest first. */
  blocks: Block[] = []
  filling = false
  /** Until when no block is fetched, because the limit is near. */
  #restUntil = 0
  /** Counts the resets of the key. */
  life = 0
  /** Requests since `#since`. `#rate` is the number of requests per millisecond in the period before. */
  #requests = 0
  #since: number
  #rate = 0
  #askedLately = true
  /** The store's last reply for each policy, and its time. Units held in blocks count as spent in it. */
  #levels: readonly Level[] = []
  #toldAt = 0
  #remaining: number[] = []
  #spent: number[] = []

  constructor(policies: readonly PolicyRequest[], settings: LeaseSettings, now: number) {
    this.#key = flatCopy((policies[0] as PolicyRequest).key)
    this.parts = this.kept(policies)
    this.#settings = settings
    this.#since = now
  }

  /** The same request, with a key that may be kept. */
  kept(policies: readonly PolicyRequest[]): readonly PolicyRequest[] {
    return policies.map((part) => ({ ...part, key: this.#key }))
  }

  isOf(policies: readonly PolicyRequest[]): boolean {
    if (policies.length !== this.parts.length) return false
    for (let i = 0; i < policies.length; i += 1) {
      const { ref, policy } = policies[i] as PolicyRequest
      const own = this.parts[i] as PolicyRequest
      if (ref.id !== own.ref.id || !samePolicy(policy, own.policy)) return false
    }
    return true
  }

  count(now: number): void {
    this.#requests += 1
    this.#askedLately = true
    const { time } = this.#settings
    const elapsed = now - this.#since
    if (elapsed >= 0 && elapsed < time / 2) return
    // If the clock was set back, the rate is unknown and a rest must not last longer than planned.
    this.#rate = Math.max(this.#requests / elapsed, 0)
    this.#restUntil = Math.min(this.#restUntil, now + time)
    this.#requests = 0
    this.#since = now
  }

  rest(now: number): void {
    this.#restUntil = now + this.#settings.time
  }

  /**
   * How many requests like this one the next block should hold: enough for half of its time. All blocks together hold at
   * most the configured share of the remaining quota.
   */
  wanted(policies: readonly PolicyRequest[], now: number): number {
    if (now < this.#restUntil || this.#remaining.length === 0) return 0
    const { time, share } = this.#settings
    const lately = this.#requests / Math.max(now - this.#since, time / 10)
    let count = Math.min(Math.ceil((Math.max(this.#rate, lately) * time) / 2), MOST_REQUESTS)
    for (let i = 0; i < policies.length; i += 1) {
      const room = (this.#remaining[i] as number) * share - this.#held(i)
      count = Math.min(count, Math.floor(room / (policies[i] as PolicyRequest).cost))
    }
    return count
  }

  /** Whether to fetch another block before it is needed. `block` is the one that covers the current request. */
  isLow(block: Block | undefined): boolean {
    if (this.blocks.length >= MOST_BLOCKS) return false
    return block === undefined || (block === this.blocks.at(-1) && block.isLow())
  }

  /** The oldest block that covers a request. */
  blockFor(policies: readonly PolicyRequest[]): Block | undefined {
    for (const block of this.blocks) if (block.covers(policies)) return block
    return undefined
  }

  /** The units of one policy in all blocks. */
  #held(policy: number): number {
    let held = 0
    for (let i = 0; i < this.blocks.length; i += 1) held += (this.blocks[i] as Block).units[policy] as number
    return held
  }

  /** Notes the store's reply for the key. */
  learn(policies: readonly PolicyRequest[], { levels, source }: StoreReply, now: number): void {
    if (source !== undefined) return
    this.#levels = levels
    this.#toldAt = now
    const explained = policies.map(({ policy, cost }, i) =>
      algorithmOf(policy).explain(parametersOf(policy, cost), levels[i] as Level),
    )
    this.#remaining = explained.map(({ remaining }) => remaining)
    this.#spent = explained.map(({ limit, remaining }) => limit - remaining)
  }

  /** Makes a block from the reply to a request sent at `sentAt`. */
  blockOf(policies: readonly PolicyRequest[], reply: StoreReply, sentAt: number): Block {
    let lasts = this.#settings.time
    for (let i = 0; i < policies.length; i += 1) {
      const { policy, cost } = policies[i] as PolicyRequest
      const holds = algorithmOf(policy).countsInFull(parametersOf(policy, cost), reply.levels[i] as Level)
      lasts = Math.min(lasts, holds / 1_000)
    }
    return new Block(policies, reply, sentAt, lasts)
  }

  /** The reply to a request that a block covers: the store's last levels, without the units that blocks still hold. */
  answer(policies: readonly PolicyRequest[], at: number, now: number): StoreReply {
    const levels: Level[] = new Array(policies.length)
    for (let i = 0; i < policies.length; i += 1)
      levels[i] = this.#levelOf(i, (policies[i] as PolicyRequest).policy, now)
    return { granted: 1, levels, at, source: "lease" }
  }

  #levelOf(part: number, policy: Policy, now: number): Level {
    const algorithm = algorithmOf(policy)
    const parameters = parametersOf(policy, 1)
    const level = algorithm.levelBefore(parameters, this.#levels[part] as Level, this.#unspent(part))
    return algorithm.levelLater(parameters, level, this.#age(now))
  }

  /** Units of a policy that the store counts as spent although blocks still hold them. */
  #unspent(policy: number): number {
    // `min`: units that have come back in the store meanwhile must not count twice.
    return Math.min(this.#held(policy), this.#spent[policy] as number)
  }

  /** Microseconds since the store's last reply. */
  #age(now: number): number {
    return Math.max(0, Math.floor((now - this.#toldAt) * 1_000))
  }

  /** Removes a block that has no time or no units left. */
  dropEnded(now: number): Block | undefined {
    for (let i = 0; i < this.blocks.length; i += 1) {
      const block = this.blocks[i] as Block
      if (block.isUsedUp() || block.isOver(now)) return this.blocks.splice(i, 1)[0]
    }
    return undefined
  }

  /** Removes blocks that were not used since the last sweep or whose time is over. */
  dropUnused(now: number): Block[] {
    const dropped = this.blocks.filter((block) => !block.used || block.isOver(now))
    this.blocks = this.blocks.filter((block) => !dropped.includes(block))
    for (const block of this.blocks) block.used = false
    return dropped
  }

  dropAll(): Block[] {
    return this.blocks.splice(0)
  }

  /** Whether it has no blocks and got no request since the last sweep. */
  isIdle(): boolean {
    const idle = this.blocks.length === 0 && !this.filling && !this.#askedLately
    this.#askedLately = false
    return idle
  }

  /** After a reset of the key, or of some of its policies: removes and returns its blocks. */
  forget(): Block[] {
    this.life += 1
    this.#remaining = []
    return this.dropAll()
  }
}
