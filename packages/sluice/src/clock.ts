import { SluiceError, shown } from "./errors.js"

/** Tells the time as milliseconds since the epoch; fractions are allowed. */
export type Clock = () => number

/** Milliseconds that never go back, whatever is done to the clock of the machine. */
export const monotonic: Clock = () => performance.now()

/**
 * Microseconds: clocks that differ by less are never taken for one that jumped, however short the policy, so that
 * processes with clocks of their own do not undo each other's counting.
 */
export const GRACE = 1_000_000

/** Refuses a clock that is no function. */
export function checkClock(clock: unknown): void {
  if (typeof clock !== "function") {
    throw new SluiceError("INVALID_OPTION", `clock must be a function, got ${shown(clock)}`)
  }
}

/** Reads a clock as whole microseconds, the unit of everything inside. */
export function microseconds(clock: Clock): number {
  // what nearly every store has; it needs no checks
  if (clock === Date.now) return Date.now() * 1_000
  const ms = read(clock)
  const us = typeof ms === "number" ? Math.round(ms * 1_000) : Number.NaN
  if (!Number.isSafeInteger(us) || us < 0) {
    throw new SluiceError(
      "INVALID_OPTION",
      `clock must return milliseconds since the epoch, got ${shown(ms)}`,
    )
  }
  return us
}

function read(clock: Clock): unknown {
  try {
    return clock()
  } catch (cause) {
    throw new SluiceError("INVALID_OPTION", "clock must return milliseconds since the epoch, but threw", {
      cause,
    })
  }
}

/** Rounds microseconds up to whole milliseconds, so that what is promised then has happened. */
export function wholeMilliseconds(us: number): number {
  return Math.ceil(us / 1_000)
}
