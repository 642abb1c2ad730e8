import { type Duration, upToAMinute } from "../duration.js"
import { checkFields, checkShare, SluiceError, shown } from "../errors.js"
import { listener } from "../events.js"

/** The behaviour of a limiter while its store fails. */
export type OutagePolicy =
  /** Allows every request. */
  | "open"
  /** Denies every request. */
  | "closed"
  /** Rejects with the error of the store. */
  | "throw"
  /** Counts in this process with this share of each policy: above 0 and at most 1, such as 1 / processes. */
  | { readonly local: number }

export interface OutageOptions {
  /** How long to wait for the store. Default: `"1s"`. */
  readonly deadline?: Duration | undefined
  /** The fallback if the store does not reply in time or the circuit is open. Default: `"throw"`. */
  readonly then?: OutagePolicy | undefined
  /** Called when the circuit of the store, or of one shard, opens, and again when all circuits are closed. */
  readonly onChange?: ((change: OutageChange) => void) | undefined
}

export interface OutageChange {
  /** Whether all circuits of the store are closed. */
  readonly reachable: boolean
  /** The error that opened the circuit. */
  readonly error?: unknown
}

export interface OutageSettings {
  /** Milliseconds. */
  readonly deadline: number
  readonly policy: OutagePolicy
  readonly onChange: (change: OutageChange) => void
}

/** Validates the option `outage` of a limiter. */
export function outageSettings(value: unknown = {}, limiter = ""): OutageSettings {
  checkFields("INVALID_OPTION", "outage", value, ["deadline", "then", "onChange"])
  const { deadline = "1s", then = "throw", onChange = () => {} } = value as OutageOptions
  const ms = upToAMinute(deadline, "outage.deadline")
  if (typeof onChange !== "function") {
    throw new SluiceError("INVALID_OPTION", `outage.onChange must be a function, got ${shown(onChange)}`)
  }
  const tell = (change: OutageChange) => {
    listener?.emit({ type: "breaker", limiter, state: change.reachable ? "closed" : "open" })
    onChange(change)
  }
  return { deadline: ms, policy: checkThen(then), onChange: tell }
}

function checkThen(then: unknown): OutagePolicy {
  if (then === "open" || then === "closed" || then === "throw") return then
  if (typeof then === "object" && then !== null && !Array.isArray(then)) {
    checkFields("INVALID_OPTION", "outage.then", then, ["local"])
    return { local: checkShare((then as { local: unknown }).local, "outage.then.local") }
  }
  throw new SluiceError(
    "INVALID_OPTION",
    `outage.then must be "open", "closed", "throw" or { local: share }, got ${shown(then)}`,
  )
}
