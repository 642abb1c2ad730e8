import { createHash } from "node:crypto"

const LONGEST_PART = 128
/** What would end a part, steer a hash slot, or not survive UTF-8 (a lone half of a surrogate pair). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unsafe = /[%:{}\u0000-\u001f\u007f]|\p{Surrogate}/gu
const plain = /^[\w.@/ -]{1,128}$/

/** A policy of a limiter, by their names: what a key counts in. */
export interface Scope {
  /** Different for different names. */
  readonly id: string
  /** The names, escaped. */
  readonly limiter: string
  readonly policy: string
}

/** Where a state is: one of the keys of a scope. */
export interface Place {
  readonly scope: Scope
  readonly key: string
}

/** The scope of a policy of a limiter. */
export function scopeOf(limiter: string, policy: string): Scope {
  const escaped = { limiter: part(limiter), policy: part(policy) }
  return { id: `${escaped.limiter}:${escaped.policy}`, ...escaped }
}

/**
 * A place as one string, for stores that have only those: `{limiter:key}:policy`. Different inputs never
 * meet, and nothing in them ends a part early: the braces and colons are always ours. A store adds a
 * prefix and the suffix of the algorithm. In a Redis Cluster the braces keep a limiter's key in one slot.
 */
export function stateKey({ scope, key }: Place): string {
  return `{${scope.limiter}:${part(key)}}:${scope.policy}`
}

function part(text: string): string {
  if (plain.test(text)) return text
  const escaped = text.replace(unsafe, (char) => {
    const code = char.charCodeAt(0)
    return code < 0x80 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16)}`
  })
  if (Buffer.byteLength(escaped) <= LONGEST_PART) return escaped
  // "h" follows no % of an escape, so a hash meets no text
  return `%h${createHash("sha256").update(escaped).digest("base64url")}`
}
