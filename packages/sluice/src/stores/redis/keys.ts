import { countingOf } from "../../algorithms/index.js"
import { escaped, LONGEST_PART, type PolicyRef, type StateRef } from "../../state-key.js"
import type { PolicyRequest } from "../../store.js"

/** How many hash tags there are: with one per key, hardly two requests would ever share a call in a Cluster. */
export const TAGS = 64
const SLOTS = 16_384

/** The character codes of most keys. They take one byte each, and only colons among them need an escape. */
const plain = new Uint8Array(128)
for (let code = 0; code < plain.length; code += 1) {
  if (/[\w.@/: -]/.test(String.fromCharCode(code))) plain[code] = 1
}

const { charCodeAt } = String.prototype

/**
 * `text.charCodeAt(index)`, called in a faster way. ioredis 6 and node-redis have a class that extends String. Once such a
 * class exists, V8 looks the method up again for every character, which takes three times as long.
 */
export function codeAt(text: string, index: number): number {
  return charCodeAt.call(text, index)
}

/** Does the same as `escaped`, but faster for most keys. Every request to Redis escapes its key. */
export function escapedKey(key: string): string {
  if (!isPlain(key)) return escaped(key)
  const colon = key.indexOf(":")
  if (colon < 0) return key
  const rest = key.slice(colon + 1)
  const safe = `${key.slice(0, colon)}%3a${rest.includes(":") ? rest.replaceAll(":", "%3a") : rest}`
  return safe.length <= LONGEST_PART ? safe : escaped(key)
}

/** Whether a text is plain and not too long. A loop is faster than a regular expression here. */
function isPlain(text: string): boolean {
  const { length } = text
  if (length > LONGEST_PART) return false
  for (let i = 0; i < length; i += 1) {
    // Codes outside the table give undefined, which is not plain either.
    if (plain[codeAt(text, i)] !== 1) return false
  }
  return true
}

/** The keys of a store: `prefix:{tag}limiter:key:policy:suffix`. The policy `default` is left out. */
export class RedisKeys {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = `${prefix}:{`
  }

  /** Where the state of a policy is. */
  of({ ref, key, policy }: PolicyRequest): string {
    return `${this.#begin(ref, key)}${escapedKey(key)}${nameOf(ref)}:${countingOf(policy).suffix}`
  }

  /** Where something else is stored beside a state. Its suffix is no algorithm's. */
  note({ ref, key }: StateRef, suffix: string): string {
    return `${this.#begin(ref, key)}${escapedKey(key)}${nameOf(ref)}:${suffix}`
  }

  #begin(ref: PolicyRef, key: string): string {
    return `${this.#prefix}${tags[tagNumber(ref, key)]}}${ref.head}`
  }
}

function nameOf({ policy, tail }: PolicyRef): string {
  return policy === "default" ? "" : tail
}

/** The hash tag of a state: the same for all policies of a limiter and key. */
export function tagOf({ ref, key }: StateRef): string {
  return tags[tagNumber(ref, key)] as string
}

/** The hash tag that all of some states share, or an empty string. */
export function sharedTag(stateRefs: readonly StateRef[]): string {
  const tag = stateRefs[0] === undefined ? "" : tagOf(stateRefs[0])
  return stateRefs.every((stateRef, i) => i === 0 || tagOf(stateRef) === tag) ? tag : ""
}

function tagNumber({ limiter }: PolicyRef, key: string): number {
  return (hash(key, hash(limiter, FNV_OFFSET)) >>> 0) % TAGS
}

/** The smallest numbers whose slots lie in each of as many equal ranges of slots, so that masters get equal shares. */
const tags: readonly string[] = (() => {
  const found: string[] = new Array(TAGS)
  for (let number = 0, left = TAGS; left > 0; number += 1) {
    const range = Math.floor((crc16(String(number)) % SLOTS) / (SLOTS / TAGS))
    if (found[range] !== undefined) continue
    found[range] = String(number)
    left -= 1
  }
  return found
})()

const FNV_OFFSET = 2_166_136_261 | 0

/** FNV-1a over the code units, mixed by the finaliser of MurmurHash3. */
function hash(text: string, seed: number): number {
  let mixed = seed
  for (let i = 0; i < text.length; i += 1) mixed = Math.imul(mixed ^ codeAt(text, i), 16_777_619)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** CRC-16/XMODEM, by which Redis Cluster maps a hash tag to a slot. */
function crc16(text: string): number {
  let crc = 0
  for (let i = 0; i < text.length; i += 1) {
    crc ^= text.charCodeAt(i) << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc
}
