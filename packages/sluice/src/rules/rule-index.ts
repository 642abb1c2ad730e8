import type { Policy } from "../policy.js"
import { escaped } from "../state-key.js"
import { KeyFilter } from "./key-filter.js"

/** A rule as a process applies it. */
export interface ActiveRule {
  readonly action: "limit" | "block" | "allow"
  /** By the escaped name of the policy that it replaces. */
  readonly policies: ReadonlyMap<string, Policy>
  /** Milliseconds by the store's clock, or `Infinity`. */
  readonly until: number
}

interface OfLimiter {
  readonly exact: Map<string, ActiveRule>
  /** The keys of `exact`. */
  readonly filter: KeyFilter
  readonly prefixes: Map<string, ActiveRule>
  /** How many prefixes there are of each length, and the lengths, longest first. */
  readonly counts: Map<number, number>
  lengths: readonly number[]
}

/** Finds the rule of a key: an exact one before the longest prefix. */
export class RuleIndex {
  readonly #byLimiter = new Map<string, OfLimiter>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** `limiter` is an escaped name, as a `PolicyRef` has it. */
  find(limiter: string, key: string, now: () => number): ActiveRule | undefined {
    const rules = this.#size === 0 ? undefined : this.#byLimiter.get(limiter)
    if (rules === undefined) return undefined
    const exact = rules.filter.mayHave(key) ? rules.exact.get(key) : undefined
    if (exact !== undefined && isActive(exact, now)) return exact
    for (const length of rules.lengths) {
      if (length > key.length) continue
      const rule = rules.prefixes.get(key.slice(0, length))
      if (rule !== undefined && isActive(rule, now)) return rule
    }
    return undefined
  }

  set(limiter: string, target: Target, rule: ActiveRule | undefined): void {
    const name = escaped(limiter)
    let rules = this.#byLimiter.get(name)
    if (rules === undefined) {
      rules = {
        exact: new Map(),
        filter: new KeyFilter(),
        prefixes: new Map(),
        counts: new Map(),
        lengths: [],
      }
      this.#byLimiter.set(name, rules)
    }
    const map = target.isPrefix ? rules.prefixes : rules.exact
    const before = map.size
    if (rule === undefined) map.delete(target.text)
    else map.set(target.text, rule)
    if (rule !== undefined && !target.isPrefix) rules.filter.add(target.text, rules.exact)
    this.#size += map.size - before
    if (!target.isPrefix || map.size === before) return
    const { length } = target.text
    const count = (rules.counts.get(length) ?? 0) + map.size - before
    if (count === 0) rules.counts.delete(length)
    else rules.counts.set(length, count)
    if (rules.counts.size !== rules.lengths.length) {
      rules.lengths = [...rules.counts.keys()].sort((a, b) => b - a)
    }
  }

  clear(): void {
    this.#byLimiter.clear()
    this.#size = 0
  }
}

/** What keys a rule is for. */
export interface Target {
  readonly isPrefix: boolean
  /** The key, or the prefix without its star. */
  readonly text: string
}

export function matches({ isPrefix, text }: Target, key: string): boolean {
  return isPrefix ? key.startsWith(text) : key === text
}

function isActive({ until }: ActiveRule, now: () => number): boolean {
  return until === Number.POSITIVE_INFINITY || until > now()
}
