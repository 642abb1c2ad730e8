import type { Policy } from "sluice"
import { isInterval } from "./policy-kinds.js"

/** Whether a policy may admit this many units within `span` microseconds, both ends included. */
export type Bound = (units: bigint, span: bigint) => boolean

/** The most a policy admits in any span of time, as its documentation states it. */
export function boundOf(policy: Policy): Bound {
  if ("window" in policy) {
    const limit = BigInt(policy.limit)
    const window = BigInt(policy.window) * 1_000n
    // The number of windows that a slightly longer span touches if it starts with a window.
    const touched = (span: bigint) => span / window + 1n
    if (policy.algorithm !== "fixedWindow") return (units, span) => units <= limit * touched(span)
    // A window that opens with its first use has that unit at its start.
    const first = policy.align === "first" ? 1n : 0n
    return (units, span) => units <= limit * (touched(span) + 1n) - first
  }
  const capacity = BigInt(policy.capacity)
  const amount = BigInt(policy.algorithm === "tokenBucket" ? policy.refill : policy.leak)
  const every = BigInt(policy.every) * 1_000n
  if (isInterval(policy)) return (units, span) => units <= capacity + amount * (span / every + 1n)
  return (units, span) => units * every <= capacity * every + span * amount
}

/**
 * The bound where turns or units are given back. A window whose first unit was given back has no unit at its start, so only the
 * documented bound holds, which is the one of windows by the clock.
 */
export function boundWithReturns(policy: Policy): Bound {
  return boundOf("align" in policy ? { ...policy, align: "clock" } : policy)
}

export interface Grant {
  readonly at: number
  readonly units: number
}

/** Throws if the grants between any two of them exceed the bound. */
export function checkBound(bound: Bound, grants: readonly Grant[]): void {
  const times = grants.map(({ at }) => BigInt(at))
  const amounts = grants.map(({ units }) => BigInt(units))
  for (let j = 0; j < grants.length; j += 1) {
    let units = 0n
    for (let i = j; i >= 0; i -= 1) {
      units += amounts[i] as bigint
      const span = (times[j] as bigint) - (times[i] as bigint)
      if (!bound(units, span)) throw new Error(`${units} units were admitted within ${span} µs`)
    }
  }
}
