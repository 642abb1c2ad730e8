import fc from "fast-check"
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { afterEach, describe, expect, test, vi } from "vitest"
import type { LeaseSettings } from "../../src/layers/lease-options.js"
import { boundOf, checkBound } from "../support/bounds.js"
import {
  type Burst,
  bursts,
  type Leaseholders,
  leaseholders,
  type Trip,
  trips,
} from "../support/leaseholders.js"
import { oracleOf } from "../support/oracles.js"
import { limitOf } from "../support/policy-kinds.js"
import { varied } from "../support/seed.js"
import { world } from "../support/world.js"

afterEach(() => {
  vi.unstubAllGlobals()
})

const limit = fc.constantFrom(20, 60, 200, 1_000)
const window = fc.constantFrom(30, 150, 400, 3_000)
const rate = fc.constantFrom(5, 20, 100, 1_000)

const policies: Readonly<Record<string, fc.Arbitrary<Policy>>> = {
  "fixedWindow first": fc.record({ limit, window }).map(fixedWindow),
  "fixedWindow clock": fc.record({ limit, window, align: fc.constant("clock" as const) }).map(fixedWindow),
  slidingLog: fc.record({ limit, window }).map(slidingLog),
  slidingWindow: fc.record({ limit, window, buckets: fc.constantFrom(1, 4, 10) }).map(slidingWindow),
  "tokenBucket continuous": fc.record({ capacity: limit, refill: rate, every: window }).map(tokenBucket),
  "tokenBucket interval": fc
    .record({ capacity: limit, refill: rate, every: window, mode: fc.constant("interval" as const) })
    .map(tokenBucket),
}

const terms = fc.record({ time: fc.constantFrom(20, 100, 100), share: fc.constantFrom(0.1, 0.1, 0.5, 1) })

/** Plays a history to its end and closes all leases. */
async function played(
  policy: Policy,
  lease: LeaseSettings,
  history: readonly Burst[],
  way: readonly Trip[] = [{ there: 0, back: 0 }],
) {
  const here = world()
  const baseStore = memoryStore({ clock: here.clock })
  const all = leaseholders(here, baseStore, policy, lease, way)
  await all.play(history)
  await all.close()
  const now = here.clock() * 1_000
  const direct = createLimiter({ name: "leased", policy, store: baseStore })
  const { limit, remaining, resetAfter } = await direct.peek("k")
  return { all, now, spent: limit - remaining, resetAt: now + resetAfter * 1_000 }
}

/** Units debited since some moment and not given back. */
function netSince({ debits }: Leaseholders, from: number): number {
  let net = 0
  for (const [at, { taken, given }] of debits) if (at >= from) net += taken - given
  return net
}

/** Throws if the base store counts fewer units as spent than were admitted, or more although the rest was given back. */
function checkLedger(policy: Policy, { all, now, spent, resetAt }: Awaited<ReturnType<typeof played>>): void {
  if (policy.algorithm === "fixedWindow") {
    const window = policy.window * 1_000
    const start = policy.align === "first" ? resetAt - window : now - (now % window)
    if (resetAt > now) expect(spent).toBe(netSince(all, start))
  } else if ("window" in policy) {
    // The oldest units are given back instead of those of the block, so the rest expires later.
    const oldest = Math.min(...all.debits.keys())
    const net = netSince(all, now - policy.window * 1_000 + 1)
    if (oldest + policy.window * 1_000 > now) expect(spent).toBe(net)
    else expect(spent).toBeGreaterThanOrEqual(net)
  } else {
    // Units that a bucket has regained since a debit are not given back.
    const exact = oracleOf(policy)
    const debits = [...all.debits].sort(([a], [b]) => a - b)
    for (const [at, { taken, given }] of debits)
      if (taken > given) exact.spend(BigInt(at), BigInt(taken - given))
    expect(policy.capacity - spent).toBeLessThanOrEqual(Number(exact.remaining(BigInt(now))))
  }
}

describe.each(Object.entries(policies))("processes with leases of a %s", (_name, anyPolicy) => {
  test("admit in any span at most what the policy admits in that span plus a lease", {
    timeout: 60_000,
  }, async () => {
    let leased = 0
    await fc.assert(
      fc.asyncProperty(anyPolicy, terms, bursts, trips, async (policy, lease, history, way) => {
        const outcome = await played(policy, lease, history, way)
        const bound = boundOf(policy)
        const extra = BigInt(lease.time) * 1_000n
        checkBound((units, span) => bound(units, span + extra), outcome.all.grants)
        // Every unit taken was admitted or given back, and nothing else was admitted.
        expect(outcome.all.held).toBe(0)
        checkLedger(policy, outcome)
        leased += outcome.all.leased
      }),
      { seed: varied(5), numRuns: 100 },
    )
    expect(leased).toBeGreaterThan(500)
  })

  test("hold at most their share each, for at most one and a half lease times", {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyPolicy, terms, bursts, async (policy, lease, history) => {
        const { all } = await played(policy, lease, history)
        expect(all.mostHeld).toBeLessThanOrEqual(4 * lease.share * limitOf(policy))
        expect(all.longestHeld).toBeLessThanOrEqual(1.5 * lease.time * 1_000)
      }),
      { seed: varied(6), numRuns: 100 },
    )
  })
})
