import { type Duration, upToAMinute } from "../duration.js"
import { checkFields, checkShare } from "../errors.js"

export interface LeaseOptions {
  /** How long a block can be spent. Default: `"100ms"`. */
  readonly time?: Duration | undefined
  /** Largest block, as a share of the limit and of the remaining quota. Default: 0.1. */
  readonly share?: number | undefined
}

export interface LeaseSettings {
  /** Milliseconds. */
  readonly time: number
  readonly share: number
}

/** Validates the option `lease`. Returns undefined if leases are off. */
export function leaseSettings(value: unknown): LeaseSettings | undefined {
  if (value === false) return undefined
  if (typeof value !== "boolean") checkFields("INVALID_OPTION", "lease", value, ["time", "share"])
  const { time = "100ms", share = 0.1 } = value as LeaseOptions
  // A longer lease would withhold units from other processes for too long.
  return { time: upToAMinute(time, "lease.time"), share: checkShare(share, "lease.share") }
}
