import { afterEach, beforeEach, expect } from "vitest"
import {
  type FetchLimits,
  type FetchOptions,
  type LimitedFetch,
  limitedFetch,
} from "../../src/fetch/index.js"
import { fixedWindow, type Policy } from "../../src/policy.js"
import { memoryStore } from "../../src/stores/memory/memory-store.js"
import { startUpstream, type Upstream } from "./upstream.js"
import { type WatchedClock, watchedClock } from "./watched-clock.js"

/** The setup for a test of a limited fetch, new for each test. */
export interface Fetching {
  readonly clock: WatchedClock
  upstream: typeof startUpstream
  /** A fetch on the manual clock. By default it has plenty of turns, so that only responses delay calls. */
  limited(options?: FetchOptions, limits?: Partial<FetchLimits<Policy>>): LimitedFetch
}

/** Closes everything that a test has opened, and checks that no timer is left. */
export function fetching(): Fetching {
  const open: (() => Promise<void>)[] = []
  let clock = watchedClock()

  beforeEach(() => {
    clock = watchedClock()
  })

  afterEach(async () => {
    await Promise.all(open.splice(0).map((close) => close()))
    expect(clock.waiting).toBe(0)
  })

  return {
    get clock() {
      return clock
    },
    async upstream(...replies): Promise<Upstream> {
      const started = await startUpstream(...replies)
      open.push(started.stop)
      return started
    },
    limited(options, limits) {
      const policy = fixedWindow({ limit: 1_000, window: "1m" })
      const fetch = limitedFetch({ policy, store: memoryStore({ clock }), ...limits }, options)
      open.push(fetch.close)
      return fetch
    },
  }
}
