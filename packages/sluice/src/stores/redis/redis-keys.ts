import { countingOf } from "../../algorithms/index.js"
import { escaped, type Place, type Scope, stateKey } from "../../state-key.js"
import type { Part } from "../../store.js"
import { TAGS, tagAt, tagNumberOf } from "./slot-tag.js"

/** What keys of a scope begin with, by the number of their tag, and end with, by the suffix of an algorithm. */
interface Affixes {
  readonly heads: (string | undefined)[]
  readonly tails: Record<string, string>
}

/** Ends the key of a record, in which the policies of a limiter that have names keep their states for one key. */
const RECORD = "::ps"

/**
 * Whether a part is kept in a record. The one policy of a limiter, which has no name of its own, has a key, and so has what
 * is kept as a list.
 */
function inRecord({ scope, policy }: Part): boolean {
  return scope.policy !== "default" && scope.policy !== "" && countingOf(policy).algorithm.inNumbers
}

/** What a part is called in a record, if it is in one. */
export function labelOf(part: Part): string | undefined {
  return inRecord(part) ? `${part.scope.policy}:${countingOf(part.policy).suffix}` : undefined
}

/** The first part before this one that is in the same record, which has a key for both; -1 if there is none. */
export function recordBefore(parts: readonly Part[], index: number): number {
  const part = parts[index] as Part
  if (index === 0 || !inRecord(part)) return -1
  for (let i = 0; i < index; i += 1) {
    const before = parts[i] as Part
    if (before.key === part.key && before.scope.limiter === part.scope.limiter && inRecord(before)) return i
  }
  return -1
}

/** Names the keys of a store: `prefix:{tag}:limiter:key:policy:suffix`, and `prefix:{tag}:limiter:key::ps` for records. */
export class RedisKeys {
  readonly #begin: string
  readonly #affixes = new WeakMap<Scope, Affixes>()
  /** Those that were asked for last, because most stores have but one scope. */
  #scope: Scope | undefined
  #last: Affixes = { heads: [], tails: {} }
  /** The key that was named last, and what was made of it: the other policies of an ask have the same. */
  #key: string | undefined
  #limiter: string | undefined
  #escaped = ""
  #tag = 0

  constructor(prefix: string) {
    this.#begin = `${prefix}:{`
  }

  /** Where the state of a part is. Of few pieces: there is one of these for every part of every ask. */
  of(part: Part): string {
    const { scope, key, policy } = part
    const { heads, tails } = this.#affixesOf(scope)
    const { suffix } = countingOf(policy)
    let tail = tails[suffix]
    if (tail === undefined) {
      tail = inRecord(part) ? RECORD : `${scope.tail}:${suffix}`
      tails[suffix] = tail
    }
    if (key !== this.#key || scope.limiter !== this.#limiter) {
      this.#escaped = escaped(key)
      this.#tag = tagNumberOf(scope, key)
      this.#key = key
      this.#limiter = scope.limiter
    }
    const head = heads[this.#tag] ?? this.#newHead(heads, this.#tag, scope)
    return head + this.#escaped + tail
  }

  /** Where something else is noted in a place. */
  note(place: Place, name: string): string {
    return `${this.#begin}${tagAt(tagNumberOf(place.scope, place.key))}}:${stateKey(place)}${name}`
  }

  #affixesOf(scope: Scope): Affixes {
    if (scope === this.#scope) return this.#last
    let affixes = this.#affixes.get(scope)
    if (affixes === undefined) {
      affixes = { heads: new Array(TAGS).fill(undefined), tails: {} }
      this.#affixes.set(scope, affixes)
    }
    this.#scope = scope
    this.#last = affixes
    return affixes
  }

  #newHead(heads: (string | undefined)[], tag: number, scope: Scope): string {
    const head = `${this.#begin}${tagAt(tag)}}:${scope.head}`
    heads[tag] = head
    return head
  }
}
