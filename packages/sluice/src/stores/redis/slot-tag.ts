import { codeAt, type Place, type Scope } from "../../state-key.js"

/** How many different tags there are. */
export const TAGS = 64
const SLOTS = 16_384
/** What FNV-1a begins with. */
const SEED = 2_166_136_261 | 0

/**
 * The hash tag of a place: the same for all policies of a limiter's key, and one of {@link TAGS} in all. So in a Cluster
 * the asks of many keys share a slot, hence a call, and the tags lie evenly among the slots.
 */
export function tagOf({ scope, key }: Place): string {
  return tagAt(tagNumberOf(scope, key))
}

/** The limiter that was hashed last, because most stores have but one. */
let last = { limiter: "", hashed: hash("", SEED) }

/** The number of the tag of a place, from 0. */
export function tagNumberOf({ limiter }: Scope, key: string): number {
  if (limiter !== last.limiter) last = { limiter, hashed: hash(limiter, SEED) }
  return (hash(key, last.hashed) >>> 0) % TAGS
}

export function tagAt(number: number): string {
  return tags[number] as string
}

/** The hash tag that all of some places have; an empty text if they differ. */
export function sharedTag(places: readonly Place[]): string {
  const tag = places[0] === undefined ? "" : tagOf(places[0])
  return places.every((place, i) => i === 0 || tagOf(place) === tag) ? tag : ""
}

/** The smallest numbers whose slots fall into each of as many equal stretches of slots. */
const tags: readonly string[] = (() => {
  const found: string[] = new Array(TAGS)
  for (let number = 0, left = TAGS; left > 0; number += 1) {
    const stretch = Math.floor((crc16(String(number)) % SLOTS) / (SLOTS / TAGS))
    if (found[stretch] !== undefined) continue
    found[stretch] = String(number)
    left -= 1
  }
  return found
})()

/**
 * FNV-1a over the code units, then mixed so that every bit counts (the finaliser of MurmurHash3). In integers of 32 bits
 * all the way, or V8 would count in doubles.
 */
function hash(text: string, seed: number): number {
  let mixed = seed
  const { length } = text
  for (let i = 0; i < length; i += 1) mixed = Math.imul(mixed ^ codeAt(text, i), 16_777_619)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** CRC-16/XMODEM, by which Redis Cluster finds the slot of a tag. */
function crc16(text: string): number {
  let crc = 0
  for (let i = 0; i < text.length; i += 1) {
    crc ^= text.charCodeAt(i) << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc
}
