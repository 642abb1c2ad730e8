import { createHash } from "node:crypto"
import type { Cells } from "../../algorithm.js"
import type { AnyAlgorithm, Counting } from "../../algorithms/index.js"
import type { Scope } from "../../state-key.js"
import { type Group, Slots } from "./slots.js"

/** How many slots are looked at to clear expired ones with each new key. */
const SWEEP = 2
/** Microseconds that a state is left alone after it has expired: a key in use soon needs its slot again. */
const LINGER = 1_000_000
/** How many slots are looked at to make room when the shelf is full. */
const CANDIDATES = 16
/** Longer keys are kept as a hash. */
export const LONGEST_KEY = 128
/** The shortest string that V8 may keep as a piece of another. */
const SHORTEST_PIECE = 13

/**
 * States by place, at most `most` of them, without a timer. Each new key clears up after a few others as a
 * hand goes round; on a full shelf the new key takes the place of the least needed of the next few:
 * an expired one, else the one nearest to expiry, and one that was denied last only if all were.
 */
export class Shelf {
  readonly #most: number
  readonly #linger: number
  readonly #slots = new Slots()
  /** By scope; a group goes with its last key. */
  readonly #groups = new Map<Counting, Map<string, Group>>()
  /** The group that was found last, for one scope object, because most stores have but one. */
  #last: { readonly scope: Scope; readonly group: Group } | undefined
  #hand = 0

  /** What has expired is left alone for `linger` microseconds. */
  constructor(most: number, linger = LINGER) {
    this.#most = most
    this.#linger = linger
  }

  get size(): number {
    return this.#slots.size
  }

  /** The slot of a key, until a key is added or removed. */
  find(scope: Scope, counting: Counting, key: string): number | undefined {
    return this.#groupOf(scope, counting)?.slots.get(key.length > LONGEST_KEY ? hashed(key) : key)
  }

  cells(slot: number, algorithm: AnyAlgorithm): Cells {
    return this.#slots.cells(slot, algorithm)
  }

  cell(slot: number, algorithm: AnyAlgorithm): number {
    return this.#slots.cell(slot, algorithm)
  }

  written(slot: number, expiresAt: number): void {
    this.#slots.written(slot, expiresAt)
  }

  markDenied(slot: number): void {
    this.#slots.markDenied(slot)
  }

  add(scope: Scope, counting: Counting, key: string, now: number): number {
    this.#sweep(now)
    if (this.size >= this.#most) this.remove(this.#leastNeeded(now))
    const group = this.#groupOf(scope, counting) ?? this.#newGroup(scope, counting)
    return this.#slots.add(group, key.length > LONGEST_KEY ? hashed(key) : copied(key))
  }

  remove(slot: number): void {
    const group = this.#slots.remove(slot)
    if (group.slots.size > 0) return
    this.#slots.dropGroup(group)
    this.#groups.get(group.counting)?.delete(group.scope)
    this.#last = undefined
  }

  #groupOf(scope: Scope, counting: Counting): Group | undefined {
    const last = this.#last
    if (last !== undefined && last.scope === scope && last.group.counting === counting) return last.group
    const group = this.#groups.get(counting)?.get(scope.id)
    if (group !== undefined) this.#last = { scope, group }
    return group
  }

  #newGroup(scope: Scope, counting: Counting): Group {
    const group = this.#slots.newGroup(scope.id, counting)
    const groups = this.#groups.get(counting) ?? new Map<string, Group>()
    this.#groups.set(counting, groups.set(scope.id, group))
    return group
  }

  #next(): number {
    this.#hand = (this.#hand + 1) % this.size
    return this.#hand
  }

  #sweep(now: number): void {
    for (let i = 0; i < SWEEP && this.size > 0; i += 1) {
      const slot = this.#next()
      if (this.#slots.expiresAt(slot) + this.#linger <= now) this.remove(slot)
    }
  }

  #leastNeeded(now: number): number {
    const slots = this.#slots
    const need = (slot: number) => (slots.expiresAt(slot) <= now ? 0 : slots.denied(slot) ? 2 : 1)
    let least = this.#next()
    for (let i = 1; i < Math.min(CANDIDATES, this.size); i += 1) {
      const slot = this.#next()
      const difference = need(slot) - need(least) || slots.expiresAt(slot) - slots.expiresAt(least)
      if (difference < 0) least = slot
    }
    return least
  }
}

/** A hash, longer than any key that is kept as it is; of UTF-16, because UTF-8 has no half of a surrogate pair. */
function hashed(key: string): string {
  const hash = createHash("sha256").update(key, "utf16le").digest("base64url")
  return hash.padEnd(LONGEST_KEY + 1, "=")
}

/** The same characters in a string of their own: a key cut out of a request must not keep all of it in memory. */
function copied(key: string): string {
  return key.length < SHORTEST_PIECE ? key : [key.slice(0, 1), key.slice(1)].join("")
}
