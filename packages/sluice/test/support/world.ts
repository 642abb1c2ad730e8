import { type ManualClock, manualClock } from "sluice/testing"
import { vi } from "vitest"
import { settled } from "./distant-store.js"

interface Event {
  readonly at: number
  readonly run: () => void
}

/** Simulated time for the clock and for timers. It passes only when a test advances it. */
export interface World {
  readonly clock: ManualClock
  /** Schedules a function. */
  after(ms: number, run: () => void): void
  /** Advances time and runs everything that is due. */
  pass(ms: number): Promise<void>
  /** How many timers are set. */
  readonly timers: number
}

/** Replaces the timers of this process, until `vi.unstubAllGlobals()`. */
export function world(): World {
  const clock = manualClock()
  const events: Event[] = []
  let timers = 0

  const add = (ms: number, run: () => void) => {
    const event = { at: clock() + ms, run }
    const later = events.findIndex(({ at }) => at > event.at)
    events.splice(later < 0 ? events.length : later, 0, event)
    return event
  }

  vi.stubGlobal("setTimeout", (run: () => void, ms: number) => {
    timers += 1
    const event = add(Math.max(ms, 1), () => {
      timers -= 1
      run()
    })
    return { event, unref: () => ({ event }) }
  })
  vi.stubGlobal("clearTimeout", (timer: { event: Event } | undefined) => {
    const index = timer === undefined ? -1 : events.indexOf(timer.event)
    if (index < 0) return
    events.splice(index, 1)
    timers -= 1
  })

  return {
    clock,
    after: add,
    async pass(ms) {
      const end = clock() + ms
      await settled()
      while ((events[0]?.at ?? Infinity) <= end) {
        const event = events.shift() as Event
        clock.set(event.at)
        event.run()
        await settled()
      }
      clock.set(end)
      await settled()
    },
    get timers() {
      return timers
    },
  }
}
