import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"

/** What a limiter does without its store. */
export type OutagePolicy =
  /** Lets everything pass. */
  | "open"
  /** Denies everything. */
  | "closed"
  /** Rejects with the error. */
  | "throw"
  /** Goes on in this process, with this share of each policy: a number above 0, such as 1 / processes. */
  | { readonly local: number }

export interface OutageOptions {
  /** How long an answer of the store is waited for; `"1s"` if left out. */
  readonly deadline?: Duration | undefined
  /** What is done when none has come in time, or none will; `"throw"` if left out. */
  readonly then?: OutagePolicy | undefined
  /** Told once when the store, or a part of it, is given up for the time being, and once when all of it answers again. */
  readonly onChange?: ((change: OutageChange) => void) | undefined
}

export interface OutageChange {
  /** Whether all of the store answers. */
  readonly reachable: boolean
  /** What made it be given up, if it was. */
  readonly error?: unknown
}

export interface OutageTerms {
  /** Milliseconds. */
  readonly deadline: number
  readonly policy: OutagePolicy
  readonly onChange: (change: OutageChange) => void
}

/** Milliseconds: nobody waits longer for an answer. */
const LONGEST_DEADLINE = 60_000

/** Validates the option `outage`. */
export function outageTerms(value: unknown = {}): OutageTerms {
  checkFields("INVALID_OPTION", "outage", value, ["deadline", "then", "onChange"])
  const { deadline = "1s", then = "throw", onChange = () => {} } = value as OutageOptions
  const ms = milliseconds(deadline, "outage.deadline", "INVALID_OPTION")
  if (ms > LONGEST_DEADLINE) {
    throw new SluiceError(
      "INVALID_OPTION",
      `outage.deadline must be at most a minute, got ${shown(deadline)}`,
    )
  }
  if (typeof onChange !== "function") {
    throw new SluiceError("INVALID_OPTION", `outage.onChange must be a function, got ${shown(onChange)}`)
  }
  return { deadline: ms, policy: checkThen(then), onChange }
}

function checkThen(then: unknown): OutagePolicy {
  if (then === "open" || then === "closed" || then === "throw") return then
  if (typeof then === "object" && then !== null && !Array.isArray(then)) {
    checkFields("INVALID_OPTION", "outage.then", then, ["local"])
    const { local } = then as { local: unknown }
    if (typeof local === "number" && local > 0 && local <= 1) return { local }
    throw new SluiceError(
      "INVALID_OPTION",
      `outage.then.local must be above 0 and at most 1, got ${shown(local)}`,
    )
  }
  throw new SluiceError(
    "INVALID_OPTION",
    `outage.then must be "open", "closed", "throw" or { local: share }, got ${shown(then)}`,
  )
}
