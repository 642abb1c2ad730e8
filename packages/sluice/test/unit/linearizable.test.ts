import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type Operation, violationIn } from "../support/linearizable.js"

const LIMIT = 10

type Span = readonly [invokedAt: number, respondedAt: number]
const during = ([invokedAt, respondedAt]: Span) => ({ invokedAt, respondedAt })
const spent = (span: Span, cost: number, remaining: number): Operation => ({
  ...during(span),
  kind: "ask",
  cost,
  allowed: true,
  remaining,
})
const denied = (span: Span, cost: number, remaining: number): Operation => ({
  ...during(span),
  kind: "ask",
  cost,
  allowed: false,
  remaining,
})
const peeked = (span: Span, remaining: number): Operation => ({
  ...during(span),
  kind: "peek",
  cost: 1,
  allowed: remaining >= 1,
  remaining,
})
const refunded = (span: Span, cost: number): Operation => ({ ...during(span), kind: "refund", cost })
const reset = (span: Span): Operation => ({ ...during(span), kind: "reset" })

describe("linearizable histories", () => {
  test.each<[string, Operation[]]>([
    ["nothing", []],
    [
      "sequential requests",
      [spent([0, 1], 4, 6), spent([2, 3], 4, 2), denied([4, 5], 4, 2), peeked([6, 7], 2)],
    ],
    ["asks at once, answered in any order", [spent([0, 9], 2, 3), spent([1, 9], 4, 6), spent([2, 9], 1, 5)]],
    ["alike asks at once", [spent([0, 9], 5, 0), spent([0, 8], 5, 5), denied([0, 7], 5, 0)]],
    ["a peek that sees an ask under way", [spent([0, 9], 3, 7), peeked([1, 2], 7), peeked([3, 4], 7)]],
    ["a peek that does not see an ask under way yet", [spent([0, 9], 3, 7), peeked([1, 2], 10)]],
    ["a refund of more than was spent", [spent([0, 1], 3, 7), refunded([2, 3], 8), peeked([4, 5], 10)]],
    [
      "a concurrent refund that must come after a request",
      [refunded([0, 9], 3), spent([1, 8], 3, 7), peeked([9, 9], 10)],
    ],
    ["a reset between asks", [spent([0, 1], 9, 1), reset([2, 5]), spent([3, 4], 9, 1), peeked([6, 7], 1)]],
    ["an answer in the moment of the next ask", [spent([0, 1], 4, 2), spent([1, 2], 4, 6)]],
    ["an ask for more than there ever is", [denied([0, 1], 11, 10)]],
  ])("%s", (_, history) => expect(violationIn(history, LIMIT)).toBeUndefined())
})

describe("histories that are not linearizable", () => {
  test.each<[string, Operation[]]>([
    ["a unit spent twice", [spent([0, 9], 3, 7), spent([0, 9], 3, 7)]],
    ["more spent than there is", [spent([0, 9], 6, 4), spent([0, 9], 6, 4)]],
    ["a spent unit that is not counted", [spent([0, 1], 3, 7), spent([2, 3], 3, 7)]],
    ["an ask counted twice", [spent([0, 1], 3, 7), spent([2, 3], 3, 1)]],
    ["answers that are exchanged", [spent([0, 9], 3, 9), spent([0, 9], 1, 6)]],
    ["a stale peek", [spent([0, 1], 3, 7), peeked([2, 3], 10)]],
    ["a peek ahead of its time", [peeked([0, 1], 7), spent([2, 3], 3, 7)]],
    ["two peeks that saw an ask come and go", [spent([0, 9], 3, 7), peeked([1, 2], 7), peeked([3, 4], 10)]],
    ["a refund that is lost", [spent([0, 1], 3, 7), refunded([2, 3], 2), peeked([4, 5], 7)]],
    ["a refund of what nobody spent", [refunded([0, 1], 3), spent([2, 3], 3, 10)]],
    ["a reset that is lost", [spent([0, 1], 9, 1), reset([2, 3]), denied([4, 5], 9, 1)]],
    ["a denial that was charged", [denied([0, 1], 11, 10), peeked([2, 3], 0)]],
    ["a denial of what is there", [spent([0, 1], 6, 4), denied([2, 3], 4, 4)]],
    ["an order that differs from real time", [spent([0, 1], 4, 2), spent([2, 3], 4, 6)]],
  ])("%s", (_, history) => expect(violationIn(history, LIMIT)).toContain("no order explains"))

  test("the report shows the longest order found and the operation that cannot follow", () => {
    const history = [
      spent([1_000, 3_000], 3, 7),
      spent([1_000, 4_000], 2, 5),
      { ...peeked([5_000, 6_500], 6), by: "somebody" },
      reset([5_000, 8_000]),
    ]
    expect(violationIn(history, LIMIT)?.split("\n")).toEqual([
      "no order explains these answers; the longest attempt placed 3 of 4 operations, last",
      "  ask 3: allowed, 7 left (0.0 to 2.0 µs)",
      "  ask 2: allowed, 5 left (0.0 to 3.0 µs)",
      "  reset (4.0 to 7.0 µs)",
      "which leaves 10, and one of these has to come next",
      "  peek 1: allowed, 6 left (4.0 to 5.5 µs, somebody)",
    ])
  })
})

/** An operation that takes effect at `at`. A lie changes the reply that its caller gets. */
interface Event {
  readonly at: number
  readonly early: number
  readonly late: number
  readonly kind: Operation["kind"]
  readonly cost: number
  readonly lie: boolean
}

const events = (length: number, truth: number, reach: number) =>
  fc.array(
    fc.record<Event>({
      at: fc.noBias(fc.nat(length * 4)),
      early: fc.noBias(fc.nat(reach)),
      late: fc.noBias(fc.nat(reach)),
      kind: fc.constantFrom("ask", "ask", "ask", "ask", "ask", "peek", "refund", "reset"),
      cost: fc.integer({ min: 1, max: 5 }),
      lie: fc.nat(truth).map((lot) => lot === 1),
    }),
    { minLength: length, maxLength: length },
  )

function historyOf(happened: readonly Event[], limit = LIMIT): Operation[] {
  let left = limit
  return [...happened]
    .sort((a, b) => a.at - b.at)
    .map(({ at, early, late, kind, cost, lie }) => {
      const times = { invokedAt: at - early, respondedAt: at + late }
      if (kind === "reset") left = limit
      if (kind === "refund") left = Math.min(left + cost, limit)
      if (kind === "reset" || kind === "refund") return { ...times, kind, cost }
      const allowed = left >= cost
      if (kind === "ask" && allowed) left -= cost
      return { ...times, kind, cost, allowed, remaining: lie ? left + 1 : left }
    })
}

/** Whether any order of a few operations explains their replies. Tries all orders. */
function explained(history: readonly Operation[], left = LIMIT): boolean {
  if (history.length === 0) return true
  return history.some((first) => {
    const others = history.filter((other) => other !== first)
    if (others.some(({ respondedAt }) => respondedAt < first.invokedAt)) return false
    if (first.kind === "reset") return explained(others, LIMIT)
    if (first.kind === "refund") return explained(others, Math.min(left + first.cost, LIMIT))
    if (first.allowed !== left >= first.cost) return false
    const next = first.kind === "ask" && first.allowed ? left - first.cost : left
    return first.remaining === next && explained(others, next)
  })
}

describe("the search", () => {
  test("agrees with a brute-force search of every order", { timeout: 30_000 }, () => {
    const verdicts = { true: 0, false: 0 }
    fc.assert(
      fc.property(events(6, 6, 12), (happened) => {
        const history = historyOf(happened)
        const verdict = explained(history)
        verdicts[`${verdict}`] += 1
        expect(violationIn(history, LIMIT) === undefined).toBe(verdict)
      }),
      { numRuns: 1_000, endOnFailure: true },
    )
    expect(verdicts.true).toBeGreaterThan(200)
    expect(verdicts.false).toBeGreaterThan(200)
  })

  test("finds the order of hundreds of operations, dozens of them concurrent", { timeout: 30_000 }, () => {
    fc.assert(
      fc.property(events(300, 0, 40), (happened) => {
        expect(violationIn(historyOf(happened, 60), 60)).toBeUndefined()
      }),
      { numRuns: 3, endOnFailure: true, seed: 1 },
    )
  })
})
