import { type Duration, milliseconds } from "../duration.js"
import { checkFields, SluiceError, shown } from "../errors.js"

export interface LeaseOptions {
  /** How long a block may be spent; `"100ms"` if left out. */
  readonly time?: Duration | undefined
  /** What part of the limit, and of what remains of it, a block takes at the most; 0.1 if left out. */
  readonly share?: number | undefined
}

export interface LeaseTerms {
  /** Milliseconds. */
  readonly time: number
  readonly share: number
}

/** Milliseconds: a longer lease would hold units back from others for too long. */
const LONGEST_TIME = 60_000

/** Validates the option `lease`: undefined for none. */
export function leaseTerms(value: unknown): LeaseTerms | undefined {
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
