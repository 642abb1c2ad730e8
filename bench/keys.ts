/** The same keys in the same order in every run: a benchmark that draws differently measures differently. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Sixteen bytes. A copy, because V8 would keep a concatenation in pieces and join it in the loop. */
export function keyOf(index: number): string {
  return copied(`user:${String(index).padStart(11, "0")}`)
}

/** The same key in a string of its own. */
export function copied(key: string): string {
  return Buffer.from(key, "latin1").toString("latin1")
}

/** A power of two, so that a loop finds its next key with a mask. */
const draws = 65_536

/** A sequence over this many keys in which each is as likely as any other. */
export function uniform(count: number): string[] {
  const keys = Array.from({ length: count }, (_, index) => keyOf(index))
  const next = random(1)
  return Array.from({ length: draws }, () => keys[Math.floor(next() * count)] as string)
}

/** Tells whole numbers from 1 up to the most, one after the other, each as likely as any other. */
export function drawn(most: number): () => number {
  const next = random(4)
  const numbers = Uint32Array.from({ length: draws }, () => 1 + Math.floor(next() * most))
  let told = 0
  return () => numbers[told++ & (draws - 1)] as number
}

/** A sequence in which the key of rank r comes in proportion to 1 / r. */
export function zipf(count: number): string[] {
  const keys = Array.from({ length: count }, (_, index) => keyOf(index))
  const sums: number[] = []
  for (let rank = 1; rank <= count; rank += 1) sums.push((sums.at(-1) ?? 0) + 1 / rank)
  const next = random(2)
  return Array.from({ length: draws }, () => keys[rankOf(next() * (sums.at(-1) ?? 0), sums)] as string)
}

function rankOf(mass: number, sums: readonly number[]): number {
  let [low, high] = [0, sums.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sums[middle] as number) < mass) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Keys from..from+count in random order. They are made in the order in which they will be used, so that a loop
 * waits for the memory of the limiter that looks them up, and not for that of the keys.
 */
export function shuffled(count: number, from = 0): string[] {
  const order = Uint32Array.from({ length: count }, (_, index) => from + index)
  const next = random(3)
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(next() * (last + 1))
    const index = order[last] as number
    order[last] = order[other] as number
    order[other] = index
  }
  return Array.from(order, (index) => keyOf(index))
}
