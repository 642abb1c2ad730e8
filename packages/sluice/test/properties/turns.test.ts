import fc from "fast-check"
import { type LeakyBucket, type Policy, scopeOf, type Turn } from "sluice"
import { describe, expect, test } from "vitest"
import { boundOf, checkBound } from "../support/bounds.js"
import { EPOCH } from "../support/moves.js"
import { type Kind, kinds, periodOf, policyOf } from "../support/policy-kinds.js"
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

/** A window whose first unit was given back has none at its very beginning. */
function boundWithReturns(policy: Policy) {
  return boundOf("align" in policy ? { ...policy, align: "clock" } : policy)
}

function searchBound(kind: Kind, mix: readonly Act["call"][], seed: number, change?: Change) {
  const holds = fc.property(policyOf(kind), actsOf(mix, 30), (policy, acts) => {
    checkBound(boundWithReturns(policy), playActs(policy, acts, change).admitted)
  })
  return fc.check(holds, { seed, numRuns: 2_000 })
}

describe.each(Object.entries(mixes))("%s admits no more than the bound", (_, mix) => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const found = searchBound(kind, mix, 11)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  })
})

describe("the search finds what lets too many through", () => {
  const cases = [
    ["booking and spending", oneUnitMore],
    ["booking and spending", toldTooSoon],
    ["booking and leaving", twiceLeft],
    ["reservations among turns", settledAsGift],
  ] as const
  // a queue has turns later than its bound needs them: that they are a drip apart is looked for below
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
  return fc.check(holds, { seed, numRuns: 2_000 })
}

describe("without leaving, turns come in the order of asking", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const found = searchOrder(kind, 13)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
    expect(searchOrder(kind, 13, shortestFirst.change).failed).toBe(true)
  })
})

/** Books until somebody has to wait, and three more; has one of them leave; who asks next has that turn. */
function searchHanding(kind: Kind, seed: number, change?: Change) {
  const which = fc.nat(2)
  const holds = fc.property(policyOf(kind), which, (policy, left) => {
    const { store, set } = storeAt(change)
    set(EPOCH)
    const parts = partsOf([policy], { of: "limit", n: 1 })
    const maxWait = Math.min(20 * periodOf(policy), 9e14)
    const book = (): Turn | undefined => {
      const { turn: at, marks, granted } = store.ask({ parts, count: 1, mode: "book", maxWait })
      return granted === 1 ? { parts, at: at as number, marks: marks as readonly number[] } : undefined
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
  return fc.check(holds, { seed, numRuns: 300 })
}

describe("a turn that is left is had by who books the same next", () => {
  // a queue that is as long as the whole capacity has one in it
  test.each(kinds.filter((kind) => kind !== "leakyBucket"))("%s", (kind) => {
    const found = searchHanding(kind, 14)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
    expect(searchHanding(kind, 14, neverLeft.change).failed).toBe(true)
  })
})

/** Books turns of 1 behind each other, as many as there are to be had. */
function searchDrips(seed: number, change?: Change) {
  const holds = fc.property(policyOf("leakyBucket"), fc.integer({ min: 2, max: 40 }), (policy, times) => {
    const { leak, every, capacity } = policy as LeakyBucket
    const { store } = storeAt(change)
    const part = { scope: scopeOf("test", "default"), key: "key", policy, cost: 1 }
    for (let i = 0; i < Math.min(times, capacity); i += 1) {
      const { turn } = store.ask({ parts: [part], count: 1, mode: "book", maxWait: 1e15 })
      const drips = (BigInt(i) * BigInt(every) * 1_000n) / BigInt(leak)
      expect(turn).toBe(EPOCH + Number(drips))
    }
  })
  return fc.check(holds, { seed, numRuns: 2_000 })
}

test("a leaky bucket that is only waited for lets one go with each drip, however long the line", () => {
  const found = searchDrips(15)
  expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  expect(searchDrips(15, oneMicrosecondUp.change).failed).toBe(true)
})
