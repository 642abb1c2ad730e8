import { getOrAdd } from "./get-or-add.js"
import { sha256 } from "./sha-256.js"

/** The longest name or key in bytes that is not hashed. */
export const LONGEST_PART = 128
/** Characters to escape: separators, braces of hash tags, control characters, and lone surrogates, which UTF-8 would lose. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unsafe = /[%:{}\u0000-\u001f\u007f]|\p{Surrogate}/gu
/** A policy of a limiter, by both names. Each key has a state under it. */
export interface PolicyRef {
  /** Different for different names. */
  readonly id: string
  /** The names of the limiter and of the policy, escaped. */
  readonly limiter: string
  readonly policy: string
  /** The text before and after the key in `stateKey`. */
  readonly head: string
  readonly tail: string
}

/** Names one state: a policy of a limiter, and a key. */
export interface StateRef {
  readonly ref: PolicyRef
  readonly key: string
}

/** Names a policy of a limiter. */
export function policyRef(limiter: string, policy: string): PolicyRef {
  const [name, policyName] = [escaped(limiter), escaped(policy)]
  return {
    id: `${name}:${policyName}`,
    limiter: name,
    policy: policyName,
    head: `${name}:`,
    tail: `:${policyName}`,
  }
}

/**
 * The name of a state as one string: `limiter:key:policy`. Different inputs give different names, because each part is escaped:
 * colons are only separators, and there are no braces. A store adds a prefix and the suffix of the algorithm.
 */
export function stateKey({ ref, key }: StateRef): string {
  return ref.head + escaped(key) + ref.tail
}

/** Escapes a name or a key. A long one becomes a hash. */
export function escaped(text: string): string {
  // Hash a long key without escaping it first: escaping a megabyte of "%" takes as long as thousands of decisions.
  if (text.length > LONGEST_PART) return hashed(text)
  const safe = text.replace(unsafe, (char) => {
    const code = char.charCodeAt(0)
    return code < 0x80 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16)}`
  })
  return new TextEncoder().encode(safe).length <= LONGEST_PART ? safe : hashed(text)
}

/** The hash of a text. No escape starts with "%h" or "%j", so a hash never equals an escaped text. */
function hashed(text: string): string {
  // Lone surrogates have no UTF-8. JSON escapes them, so texts that differ in them have different hashes.
  return /\p{Surrogate}/u.test(text) ? `%j${sha256(JSON.stringify(text))}` : `%h${sha256(text)}`
}

/** A map by limiter and key. The policy does not matter. */
export class KeyMap<Value> {
  readonly #byLimiter = new Map<string, Map<string, Value>>()
  /** The last limiter that was looked up and its keys. Most processes use only one. */
  #last = ""
  #lastKeys: Map<string, Value> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get({ limiter }: PolicyRef, key: string): Value | undefined {
    return this.#size === 0 ? undefined : this.#keysOf(limiter)?.get(key)
  }

  set({ limiter }: PolicyRef, key: string, value: Value): void {
    const byKey = getOrAdd(this.#byLimiter, limiter, () => new Map<string, Value>())
    if (!byKey.has(key)) this.#size += 1
    byKey.set(key, value)
  }

  delete({ limiter }: PolicyRef, key: string): void {
    const byKey = this.#size === 0 ? undefined : this.#byLimiter.get(limiter)
    if (byKey === undefined || !byKey.delete(key)) return
    this.#size -= 1
    if (byKey.size > 0) return
    this.#byLimiter.delete(limiter)
    this.#lastKeys = undefined
  }

  #keysOf(limiter: string): Map<string, Value> | undefined {
    if (limiter !== this.#last || this.#lastKeys === undefined) {
      this.#last = limiter
      this.#lastKeys = this.#byLimiter.get(limiter)
    }
    return this.#lastKeys
  }

  *values(): Generator<Value> {
    for (const byKey of this.#byLimiter.values()) yield* byKey.values()
  }
}
