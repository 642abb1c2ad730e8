// The rules of one store, as this process knows them. It reads them twice a second, whoever asks for them.

import { monotonic } from "../clock.js"
import { SluiceError } from "../errors.js"
import { listener } from "../events.js"
import { checkPolicy, type Policy } from "../policy.js"
import { unref } from "../runtime.js"
import { escaped } from "../state-key.js"
import { type RuleChange, type RuleTable, ruleLimits, type Store } from "../store.js"
import { memoryRules } from "./memory-rules.js"
import { type ActiveRule, matches, RuleIndex, type Target } from "./rule-index.js"

/** Milliseconds between two reads. */
const POLL = 500

/** A rule as it is stored. */
export interface StoredRule {
  readonly action: ActiveRule["action"]
  readonly policies?: Readonly<Record<string, Policy>>
  readonly until?: number
  readonly reason?: string
  readonly by?: string
}

/** Called when the rules of some keys have changed. */
export type ChangeListener = (limiter: string, matches: (key: string) => boolean) => void

/** Shared by all rules that block or allow. */
const noPolicies: ActiveRule["policies"] = new Map()

const books = new WeakMap<Store, RuleBook>()

export class RuleBook {
  readonly #table: RuleTable
  readonly index = new RuleIndex()
  /** All rules as they are stored, by field. */
  readonly stored = new Map<string, StoredRule>()
  readonly listeners = new Set<ChangeListener>()
  /** Equal policies of many rules are kept once. */
  readonly #policies = new Map<string, Policy>()
  /** The ends of rules that are to come, and the soonest of them. */
  readonly #ends = new Map<string, number>()
  #nextEnd = Number.POSITIVE_INFINITY
  /** Rules whose time is over, and which are still stored. */
  readonly #over = new Set<string>()
  #epoch = ""
  #version = -1
  /** Milliseconds by which the store's clock is ahead of the monotonic clock. */
  #ahead = Date.now() - monotonic()
  #users = 0
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<void> | undefined

  constructor(store: Store) {
    this.#table = store.rules ?? memoryRules(store.clock ?? Date.now)
    this.#clock = store.rules === undefined ? store.clock : undefined
  }

  readonly #clock: (() => number) | undefined

  /** The book of a store: one for all who use it. */
  static of(store: Store): RuleBook {
    let book = books.get(store)
    if (book === undefined) {
      book = new RuleBook(store)
      books.set(store, book)
    }
    return book
  }

  /** Milliseconds, by the store's clock. */
  readonly now = (): number => (this.#clock === undefined ? monotonic() + this.#ahead : this.#clock())

  /** Reads the rules from now on, until it is released as often. */
  use(): Promise<void> {
    this.#users += 1
    return this.refresh()
  }

  release(): void {
    this.#users -= 1
    if (this.#users === 0) clearTimeout(this.#timer)
  }

  /** Reads what has changed. One read at a time: a second caller waits for a read that starts after its call. */
  async refresh(): Promise<void> {
    const before = this.#reading
    const reading = (async () => {
      await before?.catch(() => {})
      clearTimeout(this.#timer)
      try {
        await this.#read()
      } finally {
        if (this.#users > 0) this.#timer = unref(setTimeout(this.#poll, POLL))
      }
    })()
    this.#reading = reading
    return reading
  }

  /** A store that does not answer changes nothing: the rules that were read last go on. */
  readonly #poll = (): void => {
    this.refresh().catch(() => {})
  }

  async write(changes: readonly RuleChange[]): Promise<void> {
    const removals = [...this.#over]
      .slice(0, 50)
      .filter((field) => !changes.some((change) => change.field === field))
      .map((field) => ({ field, value: "", note: { reason: "its time is over" } }))
    const version = await this.#table.write(crypto.randomUUID(), [...changes, ...removals])
    if (version < 0) {
      throw new SluiceError(
        "INVALID_OPTION",
        `a store keeps at most ${ruleLimits.MOST_RULES} rules; remove some`,
      )
    }
    await this.refresh()
  }

  history(count: number) {
    return this.#table.history(count)
  }

  async #read(): Promise<void> {
    const sentAt = monotonic()
    const { now, epoch, version, isFull, entries } = await this.#table.read(this.#epoch, this.#version)
    // the moment of the reading lies between these two
    this.#ahead = now - (sentAt + monotonic()) / 2
    this.#epoch = epoch
    this.#version = version
    const changed = isFull ? this.#replaceAll(entries) : entries
    for (const { field, value } of changed) this.#put(field, value)
    const ended = this.#dropEnded()
    if (changed.length > 0) {
      const rules = this.stored.size
      listener?.emit({ type: "rules", version, rules, changes: changed.length })
    }
    this.#tell([...changed.map(({ field }) => field), ...ended])
  }

  /** All rules that are new or differ, and an empty value for those that are gone. */
  #replaceAll(entries: readonly RuleChange[]): RuleChange[] {
    const fields = new Set(entries.map(({ field }) => field))
    const gone = [...this.stored.keys()].filter((field) => !fields.has(field))
    const differ = entries.filter(({ field, value }) => {
      const known = this.stored.get(field)
      return known === undefined || JSON.stringify(known) !== value
    })
    return [...gone.map((field) => ({ field, value: "" })), ...differ]
  }

  #put(field: string, value: string): void {
    const { limiter, target } = parseField(field)
    this.#ends.delete(field)
    this.#over.delete(field)
    if (value === "") {
      this.stored.delete(field)
      this.index.set(limiter, target, undefined)
      return
    }
    const rule = JSON.parse(value) as StoredRule
    this.stored.set(field, rule)
    const { action, until = Number.POSITIVE_INFINITY } = rule
    const policies =
      rule.policies === undefined
        ? noPolicies
        : new Map(
            Object.entries(rule.policies).map(([name, policy]) => [escaped(name), this.#policyOf(policy)]),
          )
    this.index.set(limiter, target, { action, policies, until })
    if (until === Number.POSITIVE_INFINITY) return
    this.#ends.set(field, until)
    this.#nextEnd = Math.min(this.#nextEnd, until)
  }

  #policyOf(policy: Policy): Policy {
    const text = JSON.stringify(policy)
    let known = this.#policies.get(text)
    if (known === undefined) {
      if (this.#policies.size >= 10_000) this.#policies.clear()
      known = checkPolicy(policy)
      this.#policies.set(text, known)
    }
    return known
  }

  /** Those whose time is over since the last look: the index ignores them already. */
  #dropEnded(): string[] {
    const now = this.now()
    if (now < this.#nextEnd) return []
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const [field, until] of this.#ends) {
      if (until > now) {
        this.#nextEnd = Math.min(this.#nextEnd, until)
        continue
      }
      this.#ends.delete(field)
      this.#over.add(field)
    }
    return [...this.#over]
  }

  #tell(fields: readonly string[]): void {
    const byLimiter = new Map<string, Target[]>()
    for (const field of fields) {
      const { limiter, target } = parseField(field)
      const targets = byLimiter.get(limiter) ?? []
      targets.push(target)
      byLimiter.set(limiter, targets)
    }
    for (const [limiter, targets] of byLimiter) {
      // where many have changed, it is sooner done for all keys than found out for each
      const isChanged = (key: string) =>
        targets.length > 100 || targets.some((target) => matches(target, key))
      for (const tell of this.listeners) tell(limiter, isChanged)
    }
  }
}

/** The name of a rule in a store. A limiter's name is written as JSON, so that no name contains a line feed. */
export function fieldOf(limiter: string, { isPrefix, text }: Target): string {
  return `${JSON.stringify(limiter)}\n${isPrefix ? "*" : "="}${text}`
}

export function parseField(field: string): { limiter: string; target: Target } {
  const end = field.indexOf("\n")
  const target = { isPrefix: field[end + 1] === "*", text: field.slice(end + 2) }
  return { limiter: JSON.parse(field.slice(0, end)) as string, target }
}
