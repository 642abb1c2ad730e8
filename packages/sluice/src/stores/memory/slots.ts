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
    this.clear(slot)
    this.near.set(row(from.near, other), slot * WIDTH)
    const far = from.#far && row(from.#far, other)
    if (far?.some((number) => number !== 0)) this.far().set(far, slot * WIDTH)
    const object = from.objects[other]
    if (object !== undefined) this.objects[slot] = object
  }

  clear(slot: number): void {
    row(this.near, slot).fill(0)
    if (this.#far !== undefined) row(this.#far, slot).fill(0)
    delete this.objects[slot]
  }
}

function row(numbers: Float64Array, slot: number): Float64Array {
  return numbers.subarray(slot * WIDTH, (slot + 1) * WIDTH)
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
 * several times the memory, time to collect, and nearly twice as long to be added or found.
 */
export class Slots {
  readonly #chunks: Chunk[] = []
  #size = 0
  /** Where a slot is found: at the place that its hash names, or behind it with no empty place between. */
  #places = new Int32Array(FEWEST)

  get size(): number {
    return this.#size
  }

  /** The slot of a hash, until one is added or removed. */
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

  /** Adds a slot, with a state of zeros that is yet to be written. It counts when all else is done: any call may fail. */
  add(hash: Int32Array): number {
    const slot = this.#size
    if (slot === this.#chunks.length * CHUNK) this.#chunks.push(new Chunk())
    this.#chunkOf(slot).integers.set(hash, (slot & MASK) * 2 * WIDTH)
    if ((slot + 1) * 2 > this.#places.length) this.#rebuild(this.#places.length * 2, slot + 1)
    else this.#enter(this.#places, slot)
    this.#size = slot + 1
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
    const last = this.#size - 1
    const chunk = this.#chunkOf(last)
    if (slot < last) {
      this.#chunkOf(slot).copy(slot & MASK, chunk, last & MASK)
      this.#places[this.#placeOf(last)] = entryOf(slot, this.#hashOf(last))
    }
    chunk.clear(last & MASK)
    this.#size = last
    // one chunk stays in reserve, or a key that comes and goes could bring a new chunk each time
    if (last <= (this.#chunks.length - 2) * CHUNK) this.#chunks.pop()
    const { length } = this.#places
    if (length > FEWEST && last * 8 < length) this.#rebuild(length / 2, last)
  }

  #rebuild(count: number, slots: number): void {
    const places = new Int32Array(count)
    for (let slot = 0; slot < slots; slot += 1) this.#enter(places, slot)
    this.#places = places
  }

  #enter(places: Int32Array, slot: number): void {
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
      // read here, for a call may fail half way
      const { integers } = this.#chunks[(entry & SLOT) >> BITS] as Chunk
      const own = integers[(entry & MASK) * 2 * WIDTH] as number
      if (((place - own) & last) < ((place - empty) & last)) continue
      places[empty] = entry
      empty = place
    }
    places[empty] = 0
  }

  /** Where a slot is, or should be if a call has failed before it was entered. */
  #placeOf(slot: number): number {
    const places = this.#places
    const last = places.length - 1
    let place = this.#hashOf(slot) & last
    while (places[place] !== 0 && ((places[place] as number) & SLOT) !== slot) place = (place + 1) & last
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
