import fc from "fast-check"
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "sluice"
import { manualClock } from "sluice/testing"
import { describe, expect, test } from "vitest"
import { boundOf, boundWithReturns, checkBound, type Grant } from "../support/bounds.js"
import { settled } from "../support/distant-store.js"
import { varied } from "../support/seed.js"

/** The next action in one of three processes. */
type Step =
  | { readonly call: "acquire"; readonly process: number; readonly cost: number }
  | { readonly call: "ask"; readonly process: number; readonly cost: number }
  | { readonly call: "giveUp"; readonly which: number }
  | { readonly call: "pass"; readonly ms: number }

const process = fc.nat(2)
const cost = fc.constantFrom(1, 1, 1, 2)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ call: fc.constant("acquire" as const), process, cost }) },
  { weight: 2, arbitrary: fc.record({ call: fc.constant("ask" as const), process, cost }) },
  { weight: 5, arbitrary: fc.record({ call: fc.constant("giveUp" as const), which: fc.nat(30) }) },
  {
    weight: 3,
    arbitrary: fc.record({ call: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 60 }) }),
  },
)

const policies = {
  tokenBucket: tokenBucket({ capacity: 3, refill: 2, every: 50 }),
  "tokenBucket by intervals": tokenBucket({ capacity: 4, refill: 3, every: 40, mode: "interval" }),
  leakyBucket: leakyBucket({ capacity: 12, leak: 3, every: 50 }),
  fixedWindow: fixedWindow({ limit: 3, window: 50 }),
  "fixedWindow by the clock": fixedWindow({ limit: 3, window: 50, align: "clock" }),
  slidingLog: slidingLog({ limit: 3, window: 50 }),
  slidingWindow: slidingWindow({ limit: 3, window: 50, buckets: 5 }),
} as const

type Kind = keyof typeof policies

async function play(kind: Kind, history: readonly Step[]): Promise<void> {
  const policy = policies[kind]
  const clock = manualClock()
  const store = memoryStore({ clock })
  const limiters = [0, 1, 2].map(() => createLimiter({ policy, store }))
  const grants: Grant[] = []
  const lines = new Map<string, number[]>()
  const waiting: { readonly gaveUp: AbortController; readonly ended: Promise<void> }[] = []
  const grant = (units: number) => grants.push({ at: clock() * 1_000, units })

  const acquire = (process: number, cost: number) => {
    const gaveUp = new AbortController()
    const order = waiting.length
    const ended = limiters[process]?.acquire("k", { cost, signal: gaveUp.signal }).then(
      () => {
        grant(cost)
        const name = `${process} ${cost}`
        lines.set(name, [...(lines.get(name) ?? []), order])
      },
      (error) => {
        if (error.code !== "QUEUE_FULL" && !gaveUp.signal.aborted) throw error
      },
    ) as Promise<void>
    waiting.push({ gaveUp, ended })
  }
  const pass = async (ms: number) => {
    // One millisecond at a time, so that each wake-up has its exact time.
    for (let i = 0; i < ms; i += 1) {
      clock.advance(1)
      await settled()
    }
  }

  for (const each of history) {
    if (each.call === "acquire") acquire(each.process, each.cost)
    else if (each.call === "giveUp") waiting[each.which % Math.max(waiting.length, 1)]?.gaveUp.abort()
    else if (each.call === "pass") await pass(each.ms)
    else {
      const { allowed } = (await limiters[each.process]?.tryAcquire("k", { cost: each.cost })) ?? {}
      if (allowed) grant(each.cost)
    }
    await settled()
  }
  await pass(900)
  // Every waiter got a turn, was aborted, or was denied.
  await Promise.all(waiting.map(({ ended }) => ended))
  for (const [name, orders] of lines) expect(orders, name).toEqual(orders.toSorted((a, b) => a - b))
  grants.sort((a, b) => a.at - b.at)
  // Every waiter is woken within one millisecond after its turn.
  const bound = history.some(({ call }) => call === "giveUp") ? boundWithReturns(policy) : boundOf(policy)
  checkBound((units, span) => bound(units, span + 999n), grants)
  await pass(100)
  expect(await limiters[0]?.peek("k")).toMatchObject({ remaining: limitOf(kind), resetAfter: 0 })
}

function limitOf(kind: Kind): number {
  const policy = policies[kind]
  return "limit" in policy ? policy.limit : policy.capacity
}

describe("three processes that wait, request and abort pass in order and within the bound, and leave no booked turn", () => {
  test.each(Object.keys(policies) as Kind[])("%s", { timeout: 60_000 }, async (kind) => {
    const holds = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: "max" }), (history) =>
      play(kind, history),
    )
    await fc.assert(holds, { seed: varied(6), numRuns: 150 })
  })
})
