import type { State } from "../../algorithm.js"
import type { AnyAlgorithm } from "../../algorithms/index.js"
import { flatCopy } from "../../flat-copy.js"
import { escaped, type StateRef } from "../../state-key.js"

/** How many entries each new key looks at, to remove expired ones. */
const SWEEP = 2
/** Microseconds that an expired entry stays, because a key in use soon needs it again. */
const LINGER = 1_000_000
/** How many keys a new key compares when the table is full: as many as Redis samples by default. */
const CANDIDATES = 5
/** Longer keys are stored as a hash. */
const LONGEST_KEY = 128

/** What kind of thing is stored: the states of one algorithm, or notes, which have none. */
export interface Kind {
  readonly algorithm?: AnyAlgorithm
  /** How many plain states take as much memory as a note. Left out: one. */
  weight?(state: State): number
}

/** The state of one kind, policy and key. */
export interface Entry {
  /** The key, or its hash. */
  readonly name: string
  readonly kind: Kind
  readonly refId: string
  state: State
  /** The parameters of the last request that wrote the state. */
  parameters: unknown
  /** The next entry of the same key, under another policy or of another kind. */
  next: Entry | undefined
  removed: boolean
  /** As how many it counts. */
  weight: number
}

/**
 * States by kind, policy and key, at most `most` of them, without a timer. A state that takes much memory, as a log does, counts as
 * several. Each new key removes a few expired entries,
 * as an iterator goes round. In a full table a new key replaces the candidate that has spent the smallest share of
 * its limit. So an attacker who makes up keys cannot reset a key that is exhausted.
 *
 * The map is by key alone: V8 keeps the hash of a string that a caller passes, but has to hash a joined name anew.
 */
export class StateTable {
  readonly #byKey = new Map<string, Entry>()
  readonly #most: number
  readonly #linger: number
  #hand = this.#byKey.values()
  #size = 0
  #weight = 0

  constructor(most: number, linger = LINGER) {
    this.#most = most
    this.#linger = linger
  }

  get size(): number {
    return this.#size
  }

  get(kind: Kind, ref: StateRef): State | undefined {
    return this.find(kind, ref)?.state
  }

  /** Stores a state, or deletes it if there is none. `known` is the entry that `find` returned, to skip the search. */
  set(
    kind: Kind,
    ref: StateRef,
    state: State | undefined,
    now: number,
    parameters?: unknown,
    known?: Entry,
  ): void {
    // A request with several policies may evict one of its own entries.
    const entry = known === undefined || known.removed ? this.find(kind, ref) : known
    if (state === undefined) {
      if (entry !== undefined) this.#delete(entry)
    } else if (entry === undefined) {
      this.#makeRoom(now)
      const name = flatCopy(nameOf(ref.key))
      const next = this.#byKey.get(name)
      const weight = weightOf(kind, state)
      this.#byKey.set(name, {
        name,
        kind,
        refId: ref.ref.id,
        state,
        parameters,
        next,
        removed: false,
        weight,
      })
      this.#size += 1
      this.#weight += weight
    } else {
      entry.state = state
      entry.parameters = parameters
      const weight = weightOf(kind, state)
      if (weight !== entry.weight) this.#weigh(entry, weight, now)
    }
  }

  find(kind: Kind, { ref, key }: StateRef): Entry | undefined {
    let entry = this.#byKey.get(nameOf(key))
    while (entry !== undefined && (entry.kind !== kind || entry.refId !== ref.id)) entry = entry.next
    return entry
  }

  /** Notes that an entry takes more or less memory than before. If it is more, others make room. */
  #weigh(entry: Entry, weight: number, now: number): void {
    this.#weight += weight - entry.weight
    entry.weight = weight
    while (this.#weight > this.#most && this.#evict(now, entry));
  }

  #delete(entry: Entry): void {
    const { name } = entry
    const first = this.#byKey.get(name)
    if (first !== entry) {
      let before = first
      while (before !== undefined && before.next !== entry) before = before.next
      if (before === undefined) return
      before.next = entry.next
    } else if (entry.next === undefined) this.#byKey.delete(name)
    else this.#byKey.set(name, entry.next)
    entry.removed = true
    this.#size -= 1
    this.#weight -= entry.weight
    // An iterator keeps the table of the map alive that it was created on.
    if (this.#size === 0) this.#hand = this.#byKey.values()
  }

  #makeRoom(now: number): void {
    for (let i = 0; i < SWEEP; i += 1) {
      for (let entry = this.#nextKey(); entry !== undefined; entry = entry.next) {
        if (entry.state.expiresAt + this.#linger <= now) this.#delete(entry)
      }
    }
    while (this.#weight >= this.#most && this.#evict(now));
  }

  /** Removes the entry that has spent the smallest share of its limit, among a few, but not `kept`. False if there is no other. */
  #evict(now: number, kept?: Entry): boolean {
    let least: Entry | undefined
    let leastShare = Number.POSITIVE_INFINITY
    for (let i = 0; i < CANDIDATES && leastShare > 0; i += 1) {
      for (let entry = this.#nextKey(); entry !== undefined; entry = entry.next) {
        if (entry === kept) continue
        const share = spentShare(entry, now)
        if (share >= leastShare) continue
        least = entry
        leastShare = share
      }
    }
    if (least !== undefined) this.#delete(least)
    return least !== undefined
  }

  /** The first entry of the next key, as the iterator goes round. */
  #nextKey(): Entry | undefined {
    let next = this.#hand.next()
    if (next.done === true) {
      this.#hand = this.#byKey.values()
      next = this.#hand.next()
    }
    return next.value
  }
}

/** The share of its limit that an entry has spent: 0 if it has expired. A note counts as half spent. */
function spentShare({ kind: { algorithm }, state, parameters }: Entry, now: number): number {
  if (state.expiresAt <= now) return 0
  return algorithm?.spentShare(parameters, algorithm.read(parameters, state, now)) ?? 0.5
}

function weightOf({ algorithm, weight }: Kind, state: State): number {
  return (weight === undefined ? algorithm?.weight?.(state) : weight(state)) ?? 1
}

/** The key, or a hash of a long one, which is longer than any key that is stored as it is. */
function nameOf(key: string): string {
  return key.length <= LONGEST_KEY ? key : escaped(key).padEnd(LONGEST_KEY + 1)
}
