import { countingOf, termsOf } from "../../algorithms/index.js"
import { twinOf } from "../../algorithms/twin.js"
import { limitOf } from "../../policy.js"
import type { Part } from "../../store.js"
import type { ScriptAsk, SentAsk } from "./call.js"
import { labelOf, recordBefore } from "./redis-keys.js"

/** How plain asks are sent so that a script answers them in its lane: see `lane.lua`. */
export interface Lane {
  /** Whether it is the lane for parts that differ in how they are kept, which only the longer script has. */
  readonly several: boolean
  /** The terms of each part, one by one, behind what is said of the part itself. */
  readonly terms: readonly string[]
}

/** Undefined if asks are not plain, or kept in a way that no lane is for. */
export function laneOf({ parts, mode, count }: ScriptAsk): Lane | undefined {
  if (mode !== "spend" || typeof count !== "number" || hasOneTwice(parts)) return undefined
  const labels = parts.map(labelOf)
  const { name } = twinOf((parts[0] as Part).policy)
  const isAlike = parts.every(({ policy }) => twinOf(policy).name === name)
  const inOneRecord = labels.every(
    (label, i) => label !== undefined && recordBefore(parts, i) === (i > 0 ? 0 : -1),
  )
  const areLists = parts.every(({ policy }) => !countingOf(policy).algorithm.inNumbers)
  const several = !(isAlike && (parts.length === 1 || inOneRecord || areLists))
  // there is one record at the most
  const record = labels.findIndex((label) => label !== undefined)
  const terms: string[] = []
  for (const [i, { policy, cost }] of parts.entries()) {
    const label = labels[i]
    const twin = twinOf(policy)
    const own = twin.plain(termsOf(policy, cost), count)
    if (own === undefined) return undefined
    if (label !== undefined && i !== record && recordBefore(parts, i) !== record) return undefined
    if (several) terms.push(twin.name, label ?? "")
    else if (label !== undefined) terms.push(label)
    for (const term of own) terms.push(String(term))
  }
  return { several, terms }
}

/** Whether two parts are one and the same: what is spent in one must be seen by the other. */
function hasOneTwice(parts: readonly Part[]): boolean {
  return parts.some(({ scope, key }, i) =>
    parts.some((other, j) => j < i && other.key === key && other.scope.id === scope.id),
  )
}

/** As many as there are bytes that are the same in a text of any encoding: the largest count is one less. */
const BASE = 128
/** What the first byte of amounts is more by if a key may come twice. */
const TWICE = 16

/**
 * What asks alike in all else differ in, as `amounts.lua` reads it: their counts, and their costs unless they are `asDear`;
 * undefined if a count is too large to write, or a cost is more than its policy ever grants.
 */
export function amountsOf(asks: readonly SentAsk[], follows: boolean, asDear: boolean): string | undefined {
  const digits = asDear ? 0 : digitsOf(asks)
  if (digits === undefined) return undefined
  let amounts = String.fromCharCode(digits + (follows ? TWICE : 0))
  for (const { count } of asks) {
    if (!Number.isInteger(count) || Number(count) < 1 || Number(count) >= BASE) return undefined
    amounts += String.fromCharCode(Number(count))
  }
  for (const { parts } of asks) {
    for (let i = 0; i < parts.length; i += 1) {
      const { cost } = parts[i] as Part
      for (let place = BASE ** (digits - 1); place >= 1; place /= BASE) {
        amounts += String.fromCharCode(Math.floor(cost / place) % BASE)
      }
    }
  }
  return amounts
}

/** How many digits the largest cost has; undefined if one is more than its policy ever grants. */
function digitsOf(asks: readonly SentAsk[]): number | undefined {
  let most = 1
  for (const { parts } of asks) {
    for (let i = 0; i < parts.length; i += 1) {
      const { policy, cost } = parts[i] as Part
      if (cost > limitOf(policy)) return undefined
      if (cost > most) most = cost
    }
  }
  let digits = 1
  while (BASE ** digits <= most) digits += 1
  return digits
}
