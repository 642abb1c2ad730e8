import fc from "fast-check"
import type { LeakyBucket, Policy } from "sluice"
import { policyRef, type Turn } from "sluice/store"
import { describe, expect, test } from "vitest"
import { boundWithReturns, checkBound } from "../support/bounds.js"
import { EPOCH } from "../support/moves.js"
import { type Kind, kinds, periodOf, policyOf } from "../support/policy-kinds.js"
import { sampling } from "../support/seed.js"
import { type Act, actsOf, type Change, partsOf, playActs, storeAt } from "../support/turn-players.js"
import {
  neverLeft,
  oneMicrosecondUp,
  oneUnitMore,
  settledAsGift,
  shortestFirst,
  toldTooSoon,
  twiceLeft,
} from "./turn-breakages.js"

const mixes: Record<string, readonly Act["call"][]> = {
  "booking and spending": ["book", "book", "spend"],
  "booking and leaving": ["book", "book", "leave"],
  "booking, leaving and debt": ["book", "book", "leave", "charge", "spend"],
  "reservations among turns": ["book", "leave", "spend", "reserve", "reserve", "settle"],
}

function searchBound(kind: Kind, mix: readonly Act["call"][], seed: number, change?: Change) {
  const holds = fc.property(policyOf(kind), actsOf(mix, 30), (policy, acts) => {
    checkBound(boundWithReturns(policy), playActs(policy, acts, change).admitted)
  })
  return fc.check(holds, sampling(seed, 2_000, change))
}

describe.each(Object.entries(mixes))("%s admits no more than the bound", (_, mix) => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const found = searchBound(kind, mix, 11)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  })
})

/** Found by the search. Units of an earlier spend are given back, then a turn that was booked before that. */
const found: readonly (readonly (readonly [call: Act["call"], choice: number])[])[] = [
  [
    ["book", 0],
    ["book", 0],
    ["book", 1],
    ["leave", 6],
    ["book", 1],
    ["leave", 4],
    ["book", 0],
    ["book", 1],
  ],
  [
    ["book", 0],
    ["book", 0],
    ["book", 1],
    ["book", 1],
    ["leave", 6],
    ["leave", 4],
    ["book", 0],
    ["book", 1],
    ["book", 1],
  ],
]

test.each(found)("a turn from before a give-back frees its own place (%#)", (...acts) => {
  const policy: Policy = { algorithm: "tokenBucket", capacity: 2, refill: 1, every: 1, mode: "continuous" }
  const here = { to: "here", size: 0, nudge: 0 } as const
  const played = playActs(
    policy,
    acts.map(([call, choice]) => ({ call, choice, move: here, size: { of: "one", n: 0 } as const })),
  )
  expect(played.admitted.length).toBeGreaterThan(3)
  checkBound(boundWithReturns(policy), played.admitted)
})

describe("the search finds a bug that admits too much", () => {
  const cases = [
    ["booking and spending", oneUnitMore],
    ["booking and spending", toldTooSoon],
    ["booking and leaving", twiceLeft],
    ["reservations among turns", settledAsGift],
  ] as const
  // Turns of a queue come later than its bound requires. A test below checks that they are evenly spaced.
  const found = cases.flatMap(([mix, { name, change }]) =>
    kinds
      .filter((kind) => kind !== "leakyBucket" || change !== toldTooSoon.change)
      .map((kind) => [kind, name, mix, change] as const),
  )
  test.each(found)("%s: %s", { timeout: 60_000 }, (kind, _, mix, change) => {
    expect(searchBound(kind, mixes[mix] as Act["call"][], 12, change).failed).toBe(true)
  })
})

function searchOrder(kind: Kind, seed: number, change?: Change) {
  const holds = fc.property(
    policyOf(kind),
    actsOf(["book", "book", "spend", "charge"], 20),
    (policy, acts) => {
      const { turns } = playActs(policy, acts, change)
      expect(turns).toEqual([...turns].sort((a, b) => a - b))
    },
  )
  return fc.check(holds, sampling(seed, 2_000, change))
}

describe("if no waiter leaves, turns come in the order of requests", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const found = searchOrder(kind, 13)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
    expect(searchOrder(kind, 13, shortestFirst.change).failed).toBe(true)
  })
})

/** Books until a turn has to wait, and three more. Gives one back, and checks that the next booking gets it. */
function searchHanding(kind: Kind, seed: number, change?: Change) {
  const which = fc.nat(2)
  const holds = fc.property(policyOf(kind), which, (policy, left) => {
    const { store, set } = storeAt(change)
    set(EPOCH)
    const policies = partsOf([policy], { of: "limit", n: 1 })
    const maxWait = Math.min(20 * periodOf(policy), 9e14)
    const book = (): Turn | undefined => {
      const { turn: at, receipt, granted } = store.decide({ policies, count: 1, mode: "book", maxWait })
      return granted === 1 ? { policies, at: at as number, receipt: receipt as readonly number[] } : undefined
    }
    const line = Array.from({ length: 4 }, book).filter((turn) => turn !== undefined)
    const [, ...ahead] = line
    const turn = ahead[left]
    if (turn === undefined) return
    store.leave(turn)
    expect(book()?.at).toBe(turn.at)
    const next = book()
    if (next !== undefined) expect(next.at).toBeGreaterThan((ahead.at(-1) as Turn).at)
  })
  return fc.check(holds, sampling(seed, 300, change))
}

describe("a turn that is given back goes to the next booking of the same cost", () => {
  // A queue for the whole capacity holds one waiter.
  test.each(kinds.filter((kind) => kind !== "leakyBucket"))("%s", (kind) => {
    const found = searchHanding(kind, 14)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
    expect(searchHanding(kind, 14, neverLeft.change).failed).toBe(true)
  })
})

/** Books turns of cost 1 until none is left. */
function searchDrips(seed: number, change?: Change) {
  const holds = fc.property(policyOf("leakyBucket"), fc.integer({ min: 2, max: 40 }), (policy, times) => {
    const { leak, every, capacity } = policy as LeakyBucket
    const { store } = storeAt(change)
    const part = { ref: policyRef("test", "default"), key: "key", policy, cost: 1 }
    for (let i = 0; i < Math.min(times, capacity); i += 1) {
      const { turn } = store.decide({ policies: [part], count: 1, mode: "book", maxWait: 1e15 })
      const drips = (BigInt(i) * BigInt(every) * 1_000n) / BigInt(leak)
      expect(turn).toBe(EPOCH + Number(drips))
    }
  })
  return fc.check(holds, sampling(seed, 2_000, change))
}

test("a leaky bucket used only by acquire admits one request per interval, however long the queue", () => {
  const found = searchDrips(15)
  expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  expect(searchDrips(15, oneMicrosecondUp.change).failed).toBe(true)
})
