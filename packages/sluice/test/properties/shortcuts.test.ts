import {
  createLimiter,
  fixedWindow,
  type Limiter,
  leakyBucket,
  memoryStore,
  type Policies,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { afterEach, describe, expect, test, vi } from "vitest"
import { outage } from "../../src/layers/outage.js"
import { dice } from "../support/dice.js"
import { distantStore } from "../support/distant-store.js"
import { type World, world } from "../support/world.js"

afterEach(() => {
  vi.unstubAllGlobals()
})

/** Stores, with what may lie between them and a limiter. */
const stores: Record<string, { store(here: World): Store; lease?: boolean; clockGoesBack?: boolean }> = {
  memory: { store: ({ clock }) => memoryStore({ clock }), clockGoesBack: true },
  "the deny cache": { store: ({ clock }) => distantStore(clock), clockGoesBack: true },
  leases: { store: ({ clock }) => distantStore(clock), lease: true },
  "all layers": {
    store({ clock }) {
      const store = distantStore(clock)
      return Object.assign(store, { layers: { ...store.layers, outage } })
    },
    lease: true,
  },
}

const interval = tokenBucket({ capacity: 30, refill: 7, every: 50, mode: "interval" })

const policies: Record<string, Policies> = {
  fixedWindow: fixedWindow({ limit: 30, window: 200 }),
  "fixedWindow by the clock": fixedWindow({ limit: 30, window: 200, align: "clock" }),
  slidingLog: slidingLog({ limit: 30, window: 200 }),
  slidingWindow: slidingWindow({ limit: 30, window: 200, buckets: 4 }),
  tokenBucket: tokenBucket({ capacity: 30, refill: 1, every: 10 }),
  "tokenBucket with parts": tokenBucket({ capacity: 30, refill: 7, every: 99 }),
  "tokenBucket by intervals": interval,
  leakyBucket: leakyBucket({ capacity: 30, leak: 1, every: 10 }),
  several: {
    short: tokenBucket({ capacity: 20, refill: 1, every: 10 }),
    long: fixedWindow({ limit: 60, window: "1s" }),
  },
}

/** What else may have counted under the same names: after a deploy, or given in a call. */
const others: Record<string, Policies> = {
  ...policies,
  fixedWindow: fixedWindow({ limit: 40, window: 300 }),
  "fixedWindow by the clock": fixedWindow({ limit: 40, window: 300 }),
  slidingLog: slidingLog({ limit: 40, window: 300 }),
  slidingWindow: slidingWindow({ limit: 40, window: 100, buckets: 1 }),
  tokenBucket: interval,
  "tokenBucket by intervals": tokenBucket({ capacity: 50, refill: 1, every: 10 }),
  "tokenBucket with parts": tokenBucket({ capacity: 50, refill: 3, every: 7 }),
  leakyBucket: leakyBucket({ capacity: 40, leak: 3, every: 7 }),
}

/** Does the same through two limiters, one of them without shortcuts, and has them say the same. */
async function playAlike(
  roll: (sides: number) => number,
  here: World,
  [one, other]: readonly [Limiter, Limiter],
  { clockGoesBack = false, override }: { clockGoesBack?: boolean | undefined; override: Policies },
): Promise<Set<string>> {
  const sources = new Set<string>()
  const both = async <T>(act: (limiter: Limiter) => Promise<T>) => {
    const [came, expected] = await Promise.all([act(one), act(other)])
    expect(came).toEqual(expected)
  }
  const later: Promise<unknown>[] = []
  for (let step = 0; step < 150; step += 1) {
    const key = `k${roll(2)}`
    const move = roll(12)
    if (move < 7) {
      const times = 1 + roll(12)
      for (let i = 0; i < times; i += 1) {
        const decision = await one.tryAcquire(key)
        // whoever names a cost is asked for
        expect(decision).toEqual(await other.tryAcquire(key, { cost: 1 }))
        sources.add(`${decision.allowed} ${decision.source}`)
      }
    } else if (move === 7) await here.pass(roll(4) === 0 ? roll(400) : roll(30) + roll(1_000) / 1_000)
    else if (move === 8) await both((limiter) => limiter.charge(key, 2))
    else if (move === 9) await both((limiter) => limiter.refund(key, 2))
    else if (move === 10) {
      if (roll(3) === 0) await both((limiter) => limiter.reset(key))
      else await both((limiter) => limiter.tryAcquire(key, { policy: override }))
    } else if (roll(2) === 0 && clockGoesBack) here.clock.set(here.clock() - roll(3_000))
    else later.push(both((limiter) => limiter.tryAcquire(key, { timeout: 20 })))
    await both((limiter) => limiter.peek(key))
  }
  await here.pass(600_000)
  await Promise.all(later)
  return sources
}

describe.each(Object.keys(stores))("the shortcut of %s", (where) => {
  const { store, lease = false, clockGoesBack } = stores[where] as (typeof stores)[string]
  const leasable = Object.keys(policies).filter((name) => !lease || name !== "leakyBucket")

  test.each(leasable)("answers and counts as an ask does: %s", async (name) => {
    const here = world()
    const policy = policies[name] as Policies
    const sources = new Set<string>()
    for (let seed = 1; seed <= 12; seed += 1) {
      const limiters = [1, 2].map(() => createLimiter({ policy, store: store(here), lease })) as [
        Limiter,
        Limiter,
      ]
      const seen = await playAlike(dice(seed), here, limiters, {
        clockGoesBack,
        override: others[name] as Policies,
      })
      for (const source of seen) sources.add(source)
      await Promise.all(limiters.map((limiter) => limiter.close()))
    }
    expect(sources).toContain("true store")
    expect(sources).toContain(where === "memory" ? "false store" : "false cache")
    if (lease) expect(sources).toContain("true lease")
  })
})
