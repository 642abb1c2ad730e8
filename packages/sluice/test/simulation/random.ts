/** Random numbers that are the same for the same seed: sfc32, started by a mix of the seed and a name. */
export class Random {
  #a: number
  #b: number
  #c: number
  #d = 1

  constructor(seed: number, name: string) {
    let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
    for (let i = 0; i < name.length; i += 1) mixed = Math.imul(mixed ^ name.charCodeAt(i), 16_777_619)
    this.#a = mixed
    this.#b = Math.imul(mixed ^ seed, 0xc2b2ae35)
    this.#c = seed
    for (let i = 0; i < 12; i += 1) this.next()
  }

  /** From 0 up to 1, which it never is. */
  next(): number {
    const sum = (this.#a + this.#b + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number, both ends included. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(things: readonly T[]): T {
    return things[Math.floor(this.next() * things.length)] as T
  }

  /** Mostly near the least, seldom near the most: how long things take. */
  skewed(least: number, most: number): number {
    return least + Math.floor(this.next() ** 4 * (most - least))
  }
}
