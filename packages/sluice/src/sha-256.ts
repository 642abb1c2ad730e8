/** The initial state and the constants of the 64 rounds. They are roots of primes, computed on first use. */
let constants: { readonly start: Int32Array; readonly rounds: Int32Array } | undefined

/** The words of the current block. All digests use this array. */
const words = new Int32Array(64)

/**
 * SHA-256 of a text in UTF-8, as 43 characters of base64url. Written in plain JavaScript, because the core imports nothing
 * and needs a synchronous hash. Lone surrogates have no UTF-8: all of them hash alike.
 */
export function sha256(text: string): string {
  constants ??= fractionsOfRoots()
  const state = constants.start.slice()
  const bytes = new TextEncoder().encode(text)
  const blocks = Math.ceil((bytes.length + 9) / 64)
  const padded = new Uint8Array(blocks * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(padded.length - 4, bytes.length << 3)
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(at + i * 4)
    mix(state, constants.rounds)
  }
  let digest = ""
  for (const word of state) {
    for (let shift = 24; shift >= 0; shift -= 8) digest += String.fromCharCode((word >>> shift) & 255)
  }
  return btoa(digest).replaceAll("+", "-").replaceAll("/", "_").replace("=", "")
}

/** Rotates 32 bits to the right. */
function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

/** Mixes a block into the state. It uses variables instead of arrays, because most of the time for a long key is spent here. */
function mix(state: Int32Array, rounds: Int32Array): void {
  for (let i = 16; i < 64; i += 1) {
    const x = words[i - 15] as number
    const y = words[i - 2] as number
    const first = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const second = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    words[i] = ((words[i - 16] as number) + first + (words[i - 7] as number) + second) | 0
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let i = 0; i < 64; i += 1) {
    const sums = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const first = (h + sums + ((e & f) ^ (~e & g)) + (rounds[i] as number) + (words[i] as number)) | 0
    const turned = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const second = (turned + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
  state[5] = (state[5] as number) + f
  state[6] = (state[6] as number) + g
  state[7] = (state[7] as number) + h
}

function fractionsOfRoots() {
  const primes: number[] = []
  for (let n = 2; primes.length < 64; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  const fractions = (root: (n: number) => number) =>
    Int32Array.from(primes, (prime) => ((root(prime) % 1) * 2 ** 32) | 0)
  return { start: fractions(Math.sqrt).slice(0, 8), rounds: fractions(Math.cbrt) }
}
