import { SluiceError, shown } from "./errors.js"

/** Tells the time as milliseconds since the epoch; fractions are allowed. */
export interface Clock {
  (): number
  /** Runs something when that many milliseconds have passed by it, unless cancelled; a timer of Node if left out. */
  after?(ms: number, run: () => void): () => void
}

/** How somebody is woken after a while. */
export interface Timers {
  now(): number
  after(ms: number, run: () => void): () => void
}

/** The most milliseconds that a timer of Node can be set to. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Milliseconds that never go back, whatever is done to the clock of the machine. */
export const monotonic: Clock = () => performance.now()

/**
 * Microseconds: clocks that differ by less are never taken for one that jumped, however short the policy, so that
 * processes with clocks of their own do not undo each other's counting.
 */
export const GRACE = 1_000_000

/** The timers that go with a clock: its own, or those of Node by a clock that is never put back. */
export function timersOf(clock: Clock | undefined): Timers {
  if (clock?.after !== undefined) return { now: clock, after: clock.after }
  return {
    now: monotonic,
    after(ms, run) {
      // no less than asked, and again if it was more than a timer can do; it keeps the process alive, as any wait does
      const timer = setTimeout(run, Math.min(Math.ceil(ms), LONGEST_TIMER))
      return () => clearTimeout(timer)
    },
  }
}

/** Refuses a clock that is no function. */
export function checkClock(clock: unknown): void {
  if (typeof clock !== "function") {
    throw new SluiceError("INVALID_OPTION", `clock must be a function, got ${shown(clock)}`)
  }
}

/** Reads a clock as whole microseconds, the unit of everything inside. */
export function microseconds(clock: Clock): number {
  // what nearly every store in memory has; it needs no checks
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
