import { setTimeout as sleep } from "node:timers/promises"
import { type ManualClock, manualClock } from "../../src/testing/manual-clock.js"

/** A manual clock that also reports its timers. */
export interface WatchedClock extends ManualClock {
  /** Milliseconds that timers were set to, in order. */
  readonly asked: readonly number[]
  /** How many timers are set. */
  readonly waiting: number
}

export function watchedClock(): WatchedClock {
  const clock = manualClock()
  const timers = new Set<object>()
  const asked: number[] = []
  const watched = Object.assign(() => clock(), {
    advance: clock.advance,
    set: clock.set,
    asked,
    after(ms: number, run: () => void) {
      const timer = {}
      timers.add(timer)
      asked.push(ms)
      const cancel = clock.after(ms, () => {
        timers.delete(timer)
        run()
      })
      return () => {
        timers.delete(timer)
        cancel()
      }
    },
  })
  return Object.defineProperty(watched, "waiting", { get: () => timers.size }) as unknown as WatchedClock
}

/** Resolves when a condition holds that depends on real input and output. */
export async function until(holds: () => boolean, what = String(holds)): Promise<void> {
  const deadline = performance.now() + 5_000
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`gave up waiting until ${what}`)
    await sleep(1)
  }
}
