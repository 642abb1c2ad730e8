// Puts names to the stored state of a policy, for operators. Only `inspect` loads this file.

import type { StateValues } from "../algorithm.js"
import { algorithmOf } from "./index.js"
import type { Policy } from "./registry.js"

/** Describes the `queueState` of a policy. */
export function describeState(policy: Policy, queue: readonly number[]): StateValues {
  const values = algorithmOf(policy).describe(queue)
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== 0))
}

/** The same in words: `full at 2026-05-28T20:26:41.500Z, part 3`. */
export function inWords(values: StateValues): string {
  const words = Object.entries(values).map(([name, value]) => {
    const isTime = /(At|From|Until)$/.test(name)
    const label = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    return `${label} ${isTime ? new Date(value).toISOString() : value}`
  })
  return words.join(", ") || "nothing"
}
