import type { Clock } from "../clock.js"

/** A clock that moves only when told. */
export interface ManualClock extends Clock {
  /** Moves the clock by milliseconds; negative ones move it back. */
  advance(ms: number): void
  /** Puts the clock to milliseconds since the epoch. */
  set(ms: number): void
}

/** Creates a clock that stands at `ms` (some moment in 2026) until it is moved. */
export function manualClock(ms = 1_780_000_000_000): ManualClock {
  let now = ms
  return Object.assign(() => now, {
    advance: (by: number) => {
      now += by
    },
    set: (to: number) => {
      now = to
    },
  })
}
