import { createHash } from "node:crypto"

const LONGEST_PART = 128
/** What would end a part, steer a hash slot, or not survive UTF-8 (a lone half of a surrogate pair). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unsafe = /[%:{}\u0000-\u001f\u007f]|\p{Surrogate}/gu
const plain = /^[\w.@/ -]{1,128}$/

/**
 * The key under which a store keeps the state of one policy: `{name:key}:policy`. Different inputs never
 * meet, and nothing in them ends a part early: the braces and colons are always ours. A store adds a
 * prefix and the suffix of the algorithm. In a Redis Cluster the braces keep a limiter's key in one slot.
 */
export function stateKey(name: string, key: string, policy: string): string {
  return `{${part(name)}:${part(key)}}:${part(policy)}`
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
