import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"

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

/** Longest lease in milliseconds. A longer one would withhold units from other processes for too long. */
const LONGEST_TIME = 60_000

/** Validates the option `lease`. Returns undefined if leases are off. */
export function leaseSettings(value: unknown): LeaseSettings | undefined {
  if (value === false) return undefined
  if (typeof value !== "boolean") checkFields("INVALID_OPTION", "lease", value, ["time", "share"])
  const { time = "100ms", share = 0.1 } = value as LeaseOptions
  const ms = milliseconds(time, "lease.time", "INVALID_OPTION")
  if (ms > LONGEST_TIME) {
    throw new SluiceError(
      "INVALID_OPTION",
      `lease.time must be at most ${LONGEST_TIME} ms, got ${shown(time)}`,
    )
  }
  if (typeof share !== "number" || !(share > 0 && share <= 1)) {
    throw new SluiceError("INVALID_OPTION", `lease.share must be above 0 and at most 1, got ${shown(share)}`)
  }
  return { time: ms, share }
}
