import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import type { Answer, Ask, Policy, Turn } from "sluice"
import { describe, expect, test } from "vitest"
import { EPOCH, moved } from "../support/moves.js"
import { kinds, periodOf, policyOf } from "../support/policy-kinds.js"
import { type Act, actsOf, type Change, maxWaitOf, partsOf, storeAt } from "../support/turn-players.js"
import { leftAsGift, neverLeft } from "./turn-breakages.js"

/** Spending, then turns all of which are given back before any comes, then asks as if there had been none. */
interface Episode {
  readonly policies: readonly Policy[]
  readonly before: readonly Act[]
  readonly line: readonly Act[]
  readonly after: readonly Act[]
}

function play({ policies, before, line, after }: Episode, change?: Change): void {
  const booking = storeAt(change)
  const spared = storeAt()
  const [policy] = policies as [Policy]
  let now = EPOCH
  const go = (to: number) => {
    now = to
    booking.set(to)
    spared.set(to)
  }
  const both = (ask: Ask) => {
    const told = (answer: Answer) => ({ ...answer, marks: [] })
    const [received, expected] = [told(booking.store.ask(ask)), told(spared.store.ask(ask))]
    if (!isDeepStrictEqual(received, expected)) {
      throw new Error(
        `${ask.mode} after turns: ${JSON.stringify(received)}, without: ${JSON.stringify(expected)}`,
      )
    }
  }

  for (const { call, move, size } of before) {
    go(moved(now, move, { policy, edges: [] }))
    const mode = call === "charge" ? call : "spend"
    both({ parts: partsOf(policies, size), count: 1, mode, maxWait: 0 })
  }

  const turns: Turn[] = []
  let soonest = Number.POSITIVE_INFINITY
  for (const { call, move, size, choice } of line) {
    go(Math.min(moved(now, move, { policy, edges: [] }), Math.max(soonest - 1, now)))
    if (call === "leave" && turns.length > 0) {
      booking.store.leave(turns.splice(choice % turns.length, 1)[0] as Turn)
      continue
    }
    const parts = partsOf(policies, size)
    const maxWait = maxWaitOf(policy, choice)
    const { turn: at = now, marks, granted } = booking.store.ask({ parts, count: 1, mode: "book", maxWait })
    if (granted === 0 || marks === undefined) continue
    if (at === now) {
      expect(spared.store.ask({ parts, count: 1, mode: "spend" }).granted).toBe(1)
    } else {
      soonest = Math.min(soonest, at)
      turns.push({ parts, at, marks })
    }
  }
  for (const { choice } of line) {
    if (turns.length > 0) booking.store.leave(turns.splice(choice % turns.length, 1)[0] as Turn)
  }
  for (const turn of turns) booking.store.leave(turn)

  for (const { move, size, choice } of after) {
    const parts = partsOf(policies, size)
    both({ parts, count: 1, mode: "peek" })
    go(moved(now, move, { policy, edges: [] }))
    const mode = (["peek", "spend", "book"] as const)[choice % 3] as "peek" | "spend" | "book"
    both({ parts, count: 1, mode, maxWait: periodOf(policy) })
  }
}

function search(policies: fc.Arbitrary<readonly Policy[]>, seed: number, change?: Change) {
  const episodes = fc.record<Episode>({
    policies,
    before: actsOf(["spend", "spend", "spend", "charge"], 8),
    line: actsOf(["book", "book", "book", "leave"], 16),
    after: actsOf(["spend"], 6),
  })
  return fc.check(
    fc.property(episodes, (episode) => play(episode, change)),
    { seed, numRuns: 2_000 },
  )
}

describe("when every turn was given back before it came, nothing is spent by it", () => {
  const anyKind = fc.constantFrom(...kinds).chain(policyOf)
  const cases = [
    ...kinds.map((kind) => [kind, policyOf(kind).map((policy) => [policy])] as const),
    ["several policies", fc.array(anyKind, { minLength: 2, maxLength: 3 })] as const,
  ]
  test.each(cases)("%s", { timeout: 60_000 }, (_, policies) => {
    const found = search(policies, 16)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  })

  test.each(cases)(
    "%s: the search finds what loses or gives too much",
    { timeout: 60_000 },
    (of, policies) => {
      expect(search(policies, 17, neverLeft.change).failed).toBe(true)
      // under these a gift is the newest units, as is the last turn
      const alike = of === "slidingLog" || of === "leakyBucket"
      expect(search(policies, 17, leftAsGift.change).failed).toBe(!alike)
    },
  )
})
