import { createHash } from "node:crypto"

const LONGEST_PART = 128
/** What would end a part, steer a hash slot, or not survive UTF-8 (a lone half of a surrogate pair). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unsafe = /[%:{}\u0000-\u001f\u007f]|\p{Surrogate}/gu
/** The codes of what most keys are made of: nothing to escape but colons, and a byte to a letter. */
const plain = new Uint8Array(128)
for (let code = 0; code < plain.length; code += 1) {
  if (/[\w.@/: -]/.test(String.fromCharCode(code))) plain[code] = 1
}

const { charCodeAt } = String.prototype

/**
 * The code of a letter. Not by `text.charCodeAt`: once any module of the process has a class that extends String, as
 * ioredis 6 and node-redis do, V8 looks the method up anew for every letter, which takes three times as long.
 */
export function codeAt(text: string, index: number): number {
  return charCodeAt.call(text, index)
}

/** A policy of a limiter, by their names: what a key counts in. */
export interface Scope {
  /** Different for different names. */
  readonly id: string
  /** The names of the limiter and of the policy, escaped. */
  readonly limiter: string
  readonly policy: string
  /** What stands before and behind a key in `stateKey`. */
  readonly head: string
  readonly tail: string
}

/** Where a state is: one of the keys of a scope. */
export interface Place {
  readonly scope: Scope
  readonly key: string
}

/** The scope of a policy of a limiter. */
export function scopeOf(limiter: string, policy: string): Scope {
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
 * A place as one string, for stores that have only those: `limiter:key:policy`. Different inputs never meet, and
 * nothing in them ends a part early: colons are always ours, and there are no braces. A store adds a prefix and the
 * suffix of the algorithm.
 */
export function stateKey({ scope, key }: Place): string {
  return scope.head + escaped(key) + scope.tail
}

/** A name or a key as a part of one string. */
export function escaped(text: string): string {
  if (isPlain(text)) {
    const colon = text.indexOf(":")
    if (colon < 0) return text
    const rest = text.slice(colon + 1)
    const plainly = `${text.slice(0, colon)}%3a${rest.includes(":") ? rest.replaceAll(":", "%3a") : rest}`
    if (plainly.length <= LONGEST_PART) return plainly
  }
  const safe = text.replace(unsafe, (char) => {
    const code = char.charCodeAt(0)
    return code < 0x80 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16)}`
  })
  if (Buffer.byteLength(safe) <= LONGEST_PART) return safe
  // "h" follows no % of an escape, so a hash meets no text
  return `%h${createHash("sha256").update(safe).digest("base64url")}`
}

/** Whether a text is plain and not too long; a loop, which is faster than an expression. */
function isPlain(text: string): boolean {
  const { length } = text
  if (length > LONGEST_PART) return false
  for (let i = 0; i < length; i += 1) {
    // what has no code in the table is not plain either
    if (plain[codeAt(text, i)] !== 1) return false
  }
  return true
}
