import { SluiceError, shown } from "./errors.js"

/** Returns the time in milliseconds since the epoch. Fractions are allowed. */
export interface Clock {
  (): number
  /** Calls `run` after `ms` milliseconds of this clock. The returned function cancels it. Default: `setTimeout`. */
  after?(ms: number, run: () => void): () => void
}

/** A clock with timers. */
export interface Timers {
  now(): number
  after(ms: number, run: () => void): () => void
}

/** The longest delay of `setTimeout` in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1

/** A monotonic clock in milliseconds. It never goes back, even if the system clock does. */
export const monotonic: Clock = () => performance.now()

/**
 * Tolerated clock skew in microseconds. Only a larger difference counts as a clock that jumped. So processes with slightly
 * different clocks do not repair each other's states.
 */
export const GRACE = 1_000_000

/** The timers of a clock: its own, or `setTimeout` with the monotonic clock. */
export function timersOf(clock: Clock | undefined): Timers {
  if (clock?.after !== undefined) return { now: clock, after: clock.after }
  return {
    now: monotonic,
    after(ms, run) {
      // Rounded up, so that it never fires early. A longer delay fires at the limit, and the caller sets it again.
      // The timer keeps the process alive, because a caller waits for it.
      const timer = setTimeout(run, Math.min(Math.ceil(ms), LONGEST_TIMER))
      return () => clearTimeout(timer)
    },
  }
}

/** Throws if the clock is not a function. */
export function checkClock(clock: unknown): void {
  if (typeof clock !== "function") {
    throw new SluiceError("INVALID_OPTION", `clock must be a function, got ${shown(clock)}`)
  }
}

/** Reads a clock in whole microseconds, the unit of all internal times. */
export function microseconds(clock: Clock): number {
  // The default clock needs no checks.
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

/** Rounds microseconds up to whole milliseconds, so that a promised time is never too early. */
export function wholeMilliseconds(us: number): number {
  return Math.ceil(us / 1_000)
}
