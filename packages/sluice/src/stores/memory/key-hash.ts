import { randomFillSync } from "node:crypto"
import type { Counting } from "../../algorithms/index.js"
import { codeAt, type Scope } from "../../state-key.js"

/** Of this process: nobody who chooses keys can tell which of them get into each other's way. */
const secret = randomFillSync(new Int32Array(4))
/** How many rounds the last characters are mixed in with. */
const LAST_ROUNDS = 3

/** The last hash, so that a look-up makes no garbage of it. */
const hashed = new Int32Array(4)

/** What hashes of a scope start from; and the one that was needed last, because most stores have but one. */
const seeds = new WeakMap<Counting, WeakMap<Scope, Int32Array>>()
const last: { counting?: Counting; scope?: Scope; seed: Int32Array } = { seed: secret }

/**
 * 128 bits that no other key has, nor this one in another scope or where policies count otherwise: a hash, so as far as chance
 * goes, which with a billion keys is once in 10^20 times. They hold until the next.
 */
export function hashOf(scope: Scope, counting: Counting, key: string): Int32Array {
  if (last.scope !== scope || last.counting !== counting) {
    last.seed = seedOf(scope, counting)
    last.scope = scope
    last.counting = counting
  }
  return hash(last.seed, key)
}

function seedOf(scope: Scope, counting: Counting): Int32Array {
  let byScope = seeds.get(counting)
  if (byScope === undefined) {
    byScope = new WeakMap()
    seeds.set(counting, byScope)
  }
  let seed = byScope.get(scope)
  if (seed === undefined) {
    seed = hash(secret, counting.suffix + scope.id).slice()
    byScope.set(scope, seed)
  }
  return seed
}

/** Mixes a key into 128 bits by the rounds of HalfSipHash-1-3, and leaves none of them out. */
function hash(seed: Int32Array, key: string): Int32Array {
  const { length } = key
  const text = length < 4 ? `${key}\0\0\0` : key
  const words = (length + 3) >> 2
  let rounds = words
  let all = 0
  let v0 = seed[0] as number
  let v1 = seed[1] as number
  let v2 = seed[2] as number
  let v3 = seed[3] as number
  for (let i = -1; i < rounds + LAST_ROUNDS; i += 1) {
    let word = 0
    if (i < 0) word = length
    else if (i < rounds) {
      // the low bytes of four characters, the last four for what is left; then, if a character has one, their high bytes
      const high = i < words ? 0 : 8
      const first = Math.min(4 * (high === 0 ? i : i - words), text.length - 4)
      const a = codeAt(text, first)
      const b = codeAt(text, first + 1)
      const c = codeAt(text, first + 2)
      const d = codeAt(text, first + 3)
      all |= a | b | c | d
      word =
        ((a >> high) & 0xff) |
        (((b >> high) & 0xff) << 8) |
        (((c >> high) & 0xff) << 16) |
        ((d >> high) << 24)
      if (i === words - 1 && all > 0xff) rounds *= 2
    } else if (i === rounds) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  hashed[0] = v0
  hashed[1] = v1
  hashed[2] = v2
  hashed[3] = v3
  return hashed
}
