import { SluiceError, shown } from "../errors.js"
import type { Frequent, SpaceSaving } from "./space-saving.js"

export interface SketchOptions {
  /** How many keys are counted at once, per limiter. The error is at most a `capacity`-th of all counts. Default: 1,000. */
  readonly capacity?: number | undefined
  /** Makes something of a key before it is kept: a mask or a hash. Default: the key. Either is cut to 256 characters. */
  readonly mask?: ((key: string) => string) | undefined
}

/** The most frequent keys of a limiter. */
export interface TopList {
  readonly keys: readonly Frequent[]
  /** How much was counted over all keys. */
  readonly total: number
  /** No count is too high by more than this. */
  readonly errorBound: number
  /** No key that is not in the list was counted more often than this. */
  readonly unlisted: number
}

/** How many limiters are counted; their names are the program's own. */
export const MOST_LIMITERS = 1_000
const LONGEST_KEY = 256

export function sketchSettings({ capacity = 1_000, mask }: SketchOptions) {
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > 1_000_000) {
    throw new SluiceError(
      "INVALID_OPTION",
      `capacity must be an integer from 1 to 1,000,000, got ${shown(capacity)}`,
    )
  }
  if (mask !== undefined && typeof mask !== "function") {
    throw new SluiceError("INVALID_OPTION", `mask must be a function, got ${shown(mask)}`)
  }
  return { capacity, nameOf: mask === undefined ? cut : (key: string) => cut(String(mask(key))) }
}

export function listOf(sketch: SpaceSaving, count: number): TopList {
  const { total, errorBound } = sketch
  return { keys: sketch.top(count), total, errorBound, unlisted: sketch.mostBeyond(count) }
}

/**
 * Adds lists up. A key that one list lacks may have been counted there up to `unlisted` times, so that much is added to its count
 * and to its error. Then every count is still at least the true number, and at most `error` above it.
 */
export function mergeLists(lists: readonly TopList[], count: number): TopList {
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
  const unlisted = sum(lists.map((list) => list.unlisted))
  const merged = new Map<string, { key: string; count: number; error: number }>()
  for (const list of lists) {
    for (const { key, count, error } of list.keys) {
      // Start as if no list had the key, and correct that for each list that has it.
      const before = merged.get(key) ?? { key, count: unlisted, error: unlisted }
      merged.set(key, {
        key,
        count: before.count + count - list.unlisted,
        error: before.error + error - list.unlisted,
      })
    }
  }
  const keys = [...merged.values()].sort((a, b) => b.count - a.count)
  return {
    keys: keys.slice(0, count),
    total: sum(lists.map(({ total }) => total)),
    errorBound: sum(lists.map((list) => Math.max(list.errorBound, list.unlisted))),
    unlisted: Math.max(unlisted, keys[count]?.count ?? 0),
  }
}

function cut(key: string): string {
  return key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key
}
