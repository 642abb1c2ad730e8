import { type Cells, ROW } from "../../algorithm.js"
import type { AnyAlgorithm, Counting } from "../../algorithms/index.js"

/** The keys of one scope whose policies count alike, and the slot of each. */
export interface Group {
  /** Its number in the slots: a number takes half of what a reference does. */
  readonly number: number
  readonly scope: string
  readonly counting: Counting
  readonly slots: Map<string, number>
}

/** Numbers of a slot: when it expires, less than 0 if the last ask of it was denied, then its state if in numbers. */
const EXPIRES_AT = 0
const STATE = 1
const WIDTH = STATE + ROW

/** Slots come in chunks of 1,024: growing copies nothing, and the last chunk wastes little. */
const BITS = 10
const CHUNK = 1 << BITS
const MASK = CHUNK - 1

interface Chunk {
  readonly numbers: Float64Array
  /** States that are no numbers. */
  readonly objects: object[]
  /** The numbers of groups. */
  readonly groups: Uint32Array
  readonly keys: (string | undefined)[]
}

/**
 * Keys with their states, numbered from 0 without gaps: the last slot moves to where one was removed. Numbers
 * in arrays, because a million objects would take three times the memory, and time to collect.
 */
export class Slots {
  readonly #chunks: Chunk[] = []
  #size = 0
  /** By number, and the numbers that are free. */
  readonly #groups: (Group | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#size
  }

  newGroup(scope: string, counting: Counting): Group {
    const number = this.#free.pop() ?? this.#groups.length
    const group = { number, scope, counting, slots: new Map<string, number>() }
    this.#groups[number] = group
    return group
  }

  /** Forgets a group that has no slots. */
  dropGroup({ number }: Group): void {
    this.#groups[number] = undefined
    this.#free.push(number)
  }

  /** Adds a slot for a state yet to be written. */
  add(group: Group, key: string): number {
    const slot = this.#size
    if (slot === this.#chunks.length * CHUNK) this.#chunks.push(newChunk())
    this.#size += 1
    const { groups, keys } = this.#chunkOf(slot)
    groups[slot & MASK] = group.number
    keys[slot & MASK] = key
    group.slots.set(key, slot)
    return slot
  }

  /** Where the state of a slot is kept that counts by this algorithm. */
  cells(slot: number, algorithm: AnyAlgorithm): Cells {
    const chunk = this.#chunkOf(slot)
    return algorithm.inNumbers ? chunk.numbers : chunk.objects
  }

  cell(slot: number, algorithm: AnyAlgorithm): number {
    return algorithm.inNumbers ? (slot & MASK) * WIDTH + STATE : slot & MASK
  }

  /** Notes that a state was written; a denial before it no longer counts. */
  written(slot: number, expiresAt: number): void {
    this.#chunkOf(slot).numbers[(slot & MASK) * WIDTH + EXPIRES_AT] = expiresAt
  }

  expiresAt(slot: number): number {
    return Math.abs(this.#chunkOf(slot).numbers[(slot & MASK) * WIDTH + EXPIRES_AT] as number)
  }

  denied(slot: number): boolean {
    return (this.#chunkOf(slot).numbers[(slot & MASK) * WIDTH + EXPIRES_AT] as number) < 0
  }

  markDenied(slot: number): void {
    this.#chunkOf(slot).numbers[(slot & MASK) * WIDTH + EXPIRES_AT] = -this.expiresAt(slot)
  }

  /** Removes a slot; the group that it is gone from. */
  remove(slot: number): Group {
    const { groups, keys } = this.#chunkOf(slot)
    const group = this.#groups[groups[slot & MASK] as number] as Group
    group.slots.delete(keys[slot & MASK] as string)
    this.#size -= 1
    if (slot < this.#size) this.#move(this.#size, slot)
    this.#clear(this.#size)
    return group
  }

  #move(from: number, to: number): void {
    const source = this.#chunkOf(from)
    const target = this.#chunkOf(to)
    const [i, j] = [from & MASK, to & MASK]
    const group = this.#groups[source.groups[i] as number] as Group
    const key = source.keys[i] as string
    for (let k = 0; k < WIDTH; k += 1) {
      target.numbers[j * WIDTH + k] = source.numbers[i * WIDTH + k] as number
    }
    if (group.counting.algorithm.inNumbers) delete target.objects[j]
    else target.objects[j] = source.objects[i] as object
    target.groups[j] = group.number
    target.keys[j] = key
    group.slots.set(key, to)
  }

  #clear(slot: number): void {
    const { objects, keys } = this.#chunkOf(slot)
    delete objects[slot & MASK]
    keys[slot & MASK] = undefined
    // one chunk stays in reserve, or a key that comes and goes could bring a new chunk each time
    if (this.#size <= (this.#chunks.length - 2) * CHUNK) this.#chunks.pop()
  }

  #chunkOf(slot: number): Chunk {
    return this.#chunks[slot >> BITS] as Chunk
  }
}

function newChunk(): Chunk {
  return {
    numbers: new Float64Array(CHUNK * WIDTH),
    objects: [],
    groups: new Uint32Array(CHUNK),
    keys: new Array(CHUNK).fill(undefined),
  }
}
