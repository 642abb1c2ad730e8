import { type Cells, type Numbers, ROW } from "../../algorithm.js"
import type { AnyAlgorithm } from "../../algorithms/index.js"

/** Integers of a slot: the hash that its key is known by. */
const HASH = 4
/** Then its numbers: when it expires, less than 0 if the last ask of it was denied, and its state if in numbers. */
const EXPIRES_AT = HASH / 2
const STATE = EXPIRES_AT + 1
const WIDTH = STATE + ROW

/** Slots come in chunks of 1,024: growing copies nothing, and the last chunk wastes little. */
const BITS = 10
const CHUNK = 1 << BITS
const MASK = CHUNK - 1

class Chunk implements Numbers {
  readonly near = new Float64Array(CHUNK * WIDTH)
  /** The same memory. */
  readonly integers = new Int32Array(this.near.buffer)
  #far: Float64Array | undefined
  /** States that are no numbers. */
  readonly objects: object[] = []

  far(): Float64Array {
    this.#far ??= new Float64Array(CHUNK * WIDTH)
    return this.#far
  }

  /** Makes one slot the same as another. */
  copy(slot: number, from: Chunk, other: number): void {
    // as integers: a hash may look like a number that is none, of which there are many, and those need not stay apart
    for (let i = 0; i < 2 * WIDTH; i += 1) {
      this.integers[slot * 2 * WIDTH + i] = from.integers[other * 2 * WIDTH + i] as number
    }
    if (from.#far !== undefined) {
      this.far().set(from.#far.subarray(other * WIDTH, (other + 1) * WIDTH), slot * WIDTH)
    }
    const object = from.objects[other]
    if (object === undefined) delete this.objects[slot]
    else this.objects[slot] = object
  }

  clear(slot: number): void {
    this.near.fill(0, slot * WIDTH, (slot + 1) * WIDTH)
    delete this.objects[slot]
  }
}

/** The fewest places in the table; it has two to eight times as many as there are slots. */
const FEWEST = 1_024
/** A place that is taken holds a slot, seven bits of its hash, and a bit that tells it from one that is empty. */
const SLOT = 0xff_ff_ff
const TAG = 0x7f_00_00_00
const TAKEN = 1 << 31

/**
 * States by the hash of their key, numbered from 0 without gaps: the last slot moves to where one was removed. All of it in
 * arrays of numbers, with a table to find a hash in: as objects and strings in a `Map`, a million keys would take
 * several times the memory, time to collect, and twice as long to be added or found.
 */
export class Slots {
  readonly #chunks: Chunk[] = []
  #size = 0
  /** Where a slot is found: at the place that its hash names, or behind it with no empty place between. */
  #places = new Int32Array(FEWEST)

  get size(): number {
    return this.#size
  }

  slotOf(hash: Int32Array): number | undefined {
    const places = this.#places
    const last = places.length - 1
    const start = hash[0] as number
    for (let place = start & last; ; place = (place + 1) & last) {
      const entry = places[place] as number
      if (entry === 0) return undefined
      if (((entry ^ start) & TAG) !== 0) continue
      const slot = entry & SLOT
      const { integers } = this.#chunkOf(slot)
      const first = (slot & MASK) * 2 * WIDTH
      if (
        integers[first] === start &&
        integers[first + 1] === hash[1] &&
        integers[first + 2] === hash[2] &&
        integers[first + 3] === hash[3]
      ) {
        return slot
      }
    }
  }

  /** Adds a slot, with a state of zeros that is yet to be written. */
  add(hash: Int32Array): number {
    const slot = this.#size
    if (slot === this.#chunks.length * CHUNK) this.#chunks.push(new Chunk())
    this.#size += 1
    const { integers } = this.#chunkOf(slot)
    const first = (slot & MASK) * 2 * WIDTH
    for (let i = 0; i < HASH; i += 1) integers[first + i] = hash[i] as number
    if (this.#size * 2 > this.#places.length) this.#rebuild(this.#places.length * 2)
    else this.#enter(slot)
    return slot
  }

  /** Where the state of a slot is kept that counts by this algorithm. */
  cells(slot: number, algorithm: AnyAlgorithm): Cells {
    const chunk = this.#chunkOf(slot)
    return algorithm.inNumbers ? chunk : chunk.objects
  }

  cell(slot: number, algorithm: AnyAlgorithm): number {
    return algorithm.inNumbers ? (slot & MASK) * WIDTH + STATE : slot & MASK
  }

  /** Notes that a state was written; a denial before it no longer counts. */
  written(slot: number, expiresAt: number): void {
    this.#chunkOf(slot).near[(slot & MASK) * WIDTH + EXPIRES_AT] = expiresAt
  }

  expiresAt(slot: number): number {
    return Math.abs(this.#chunkOf(slot).near[(slot & MASK) * WIDTH + EXPIRES_AT] as number)
  }

  denied(slot: number): boolean {
    return (this.#chunkOf(slot).near[(slot & MASK) * WIDTH + EXPIRES_AT] as number) < 0
  }

  markDenied(slot: number): void {
    this.written(slot, -this.expiresAt(slot))
  }

  remove(slot: number): void {
    this.#leave(slot)
    this.#size -= 1
    const last = this.#size
    const chunk = this.#chunkOf(last)
    if (slot < last) {
      this.#places[this.#placeOf(last)] = entryOf(slot, this.#hashOf(last))
      this.#chunkOf(slot).copy(slot & MASK, chunk, last & MASK)
    }
    chunk.clear(last & MASK)
    // one chunk stays in reserve, or a key that comes and goes could bring a new chunk each time
    if (last <= (this.#chunks.length - 2) * CHUNK) this.#chunks.pop()
    const { length } = this.#places
    if (length > FEWEST && last * 8 < length) this.#rebuild(length / 2)
  }

  #rebuild(places: number): void {
    this.#places = new Int32Array(places)
    for (let slot = 0; slot < this.#size; slot += 1) this.#enter(slot)
  }

  #enter(slot: number): void {
    const places = this.#places
    const last = places.length - 1
    const hash = this.#hashOf(slot)
    let place = hash & last
    while (places[place] !== 0) place = (place + 1) & last
    places[place] = entryOf(slot, hash)
  }

  /** Takes a slot out of the table: those behind it move up, if that is no place before their own. */
  #leave(slot: number): void {
    const places = this.#places
    const last = places.length - 1
    let empty = this.#placeOf(slot)
    for (let place = (empty + 1) & last; places[place] !== 0; place = (place + 1) & last) {
      const entry = places[place] as number
      const own = this.#hashOf(entry & SLOT)
      if (((place - own) & last) < ((place - empty) & last)) continue
      places[empty] = entry
      empty = place
    }
    places[empty] = 0
  }

  #placeOf(slot: number): number {
    const places = this.#places
    const last = places.length - 1
    let place = this.#hashOf(slot) & last
    while (((places[place] as number) & SLOT) !== slot) place = (place + 1) & last
    return place
  }

  /** As much of its hash as the table goes by. */
  #hashOf(slot: number): number {
    return this.#chunkOf(slot).integers[(slot & MASK) * 2 * WIDTH] as number
  }

  #chunkOf(slot: number): Chunk {
    return this.#chunks[slot >> BITS] as Chunk
  }
}

function entryOf(slot: number, hash: number): number {
  return slot | (hash & TAG) | TAKEN
}
