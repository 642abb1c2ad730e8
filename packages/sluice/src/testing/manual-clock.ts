import type { Clock } from "../clock.js"

/** A clock that moves only when a test moves it. */
export interface ManualClock extends Clock {
  /** Moves the clock by `ms` milliseconds and runs the timers that are due. A negative number moves it back. */
  advance(ms: number): void
  /** Sets the clock to milliseconds since the epoch. */
  set(ms: number): void
  after(ms: number, run: () => void): () => void
}

/** Creates a clock that stands still at `ms` milliseconds since the epoch. Default: a fixed moment in 2026. */
export function manualClock(ms = 1_780_000_000_000): ManualClock {
  let now = ms
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()

  const set = (to: number) => {
    for (;;) {
      const due = [...timers].filter(({ at }) => at <= to)
      const next = due.reduce((a, b) => (b.at < a.at ? b : a), due[0] as (typeof due)[0])
      if (next === undefined) break
      timers.delete(next)
      now = Math.max(now, next.at)
      next.run()
    }
    now = to
  }

  return Object.assign(() => now, {
    advance: (by: number) => set(now + by),
    set,
    after(ms: number, run: () => void) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })
}
