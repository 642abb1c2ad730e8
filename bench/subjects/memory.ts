import { RateLimiter } from "limiter"
import { RateLimiterMemory } from "rate-limiter-flexible"
import { createLimiter, type Decision, slidingWindow, tokenBucket } from "sluice"
import { baseline, plenty } from "../subject.js"

export type Decide = (key: string) => Promise<unknown>

/** What can be measured in memory; each is made in a process of its own. */
export const memorySubjects: Record<string, () => Decide> = {
  sluice() {
    // a unit takes a minute to come back: no key is forgotten during a run
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 1_000_000, refill: 1, every: "1m" }) })
    return (key) => limiter.tryAcquire(key)
  },

  "sluice slidingWindow"() {
    const limiter = createLimiter({ policy: slidingWindow({ limit: 1_000_000, window: "1h" }) })
    return (key) => limiter.tryAcquire(key)
  },

  [baseline]() {
    const limiter = new RateLimiterMemory({ points: plenty, duration: 600 })
    return (key) => limiter.consume(key)
  },

  // it knows no keys: one object for each, as its users do
  limiter() {
    const limiters = new Map<string, RateLimiter>()
    return (key) => {
      let found = limiters.get(key)
      if (found === undefined) {
        found = new RateLimiter({ tokensPerInterval: plenty, interval: "hour", fireImmediately: true })
        limiters.set(key, found)
      }
      return found.removeTokens(1)
    }
  },

  // what any limiter in memory with keys and an async answer must do
  "Map (floor)"() {
    const states = new Map<string, { used: number }>()
    return async (key): Promise<Decision> => {
      let state = states.get(key)
      if (state === undefined) {
        state = { used: 0 }
        states.set(key, state)
      }
      state.used += 1
      return {
        allowed: true,
        policy: "default",
        limit: plenty,
        window: 60_000,
        remaining: plenty - state.used,
        retryAfter: 0,
        resetAfter: 0,
        source: "store",
        degraded: false,
      }
    }
  },
}
