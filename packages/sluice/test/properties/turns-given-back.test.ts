import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import type { Policy } from "sluice"
import type { StoreReply, StoreRequest, Turn } from "sluice/store"
import { describe, expect, test } from "vitest"
import { EPOCH, moved } from "../support/moves.js"
import { kinds, periodOf, policyOf } from "../support/policy-kinds.js"
import { sampling } from "../support/seed.js"
import { type Act, actsOf, type Change, maxWaitOf, partsOf, storeAt } from "../support/turn-players.js"
import { leftAsGift, neverLeft } from "./turn-breakages.js"

/** Spends, books turns and gives all of them back before any comes, then compares requests with a run without turns. */
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
  const both = (request: StoreRequest) => {
    const told = (reply: StoreReply) => ({ ...reply, receipt: [] })
    const [received, expected] = [told(booking.store.decide(request)), told(spared.store.decide(request))]
    if (!isDeepStrictEqual(received, expected)) {
      throw new Error(
        `${request.mode} after turns: ${JSON.stringify(received)}, without: ${JSON.stringify(expected)}`,
      )
    }
  }

  for (const { call, move, size } of before) {
    go(moved(now, move, { policy, edges: [] }))
    const mode = call === "charge" ? call : "spend"
    both({ policies: partsOf(policies, size), count: 1, mode, maxWait: 0 })
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
    // What is admitted in a gap may count a little longer than without turns: a log counts it as one entry, and windows and
    // steps of several policies go on without a pause while turns are booked.
    const isAlike = policies.length === 1 && !policy.algorithm.startsWith("sliding")
    const peek = { policies: parts, count: 1, mode: "peek" } as const
    if (!isAlike && turns.length > 0 && booking.store.decide(peek).granted > 0) continue
    const {
      turn: at = now,
      receipt,
      granted,
    } = booking.store.decide({ policies: parts, count: 1, mode: "book", maxWait })
    if (granted === 0 || receipt === undefined) continue
    if (at === now) {
      expect(spared.store.decide({ policies: parts, count: 1, mode: "spend" }).granted).toBe(1)
    } else {
      soonest = Math.min(soonest, at)
      turns.push({ policies: parts, at, receipt })
    }
  }
  for (const { choice } of line) {
    if (turns.length > 0) booking.store.leave(turns.splice(choice % turns.length, 1)[0] as Turn)
  }
  for (const turn of turns) booking.store.leave(turn)

  for (const { move, size, choice } of after) {
    const parts = partsOf(policies, size)
    both({ policies: parts, count: 1, mode: "peek" })
    go(moved(now, move, { policy, edges: [] }))
    const mode = (["peek", "spend", "book"] as const)[choice % 3] as "peek" | "spend" | "book"
    both({ policies: parts, count: 1, mode, maxWait: periodOf(policy) })
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
    sampling(seed, 2_000, change),
  )
}

describe("a turn that is given back before it comes leaves nothing spent", () => {
  // Not by intervals: among other policies, a unit that was admitted in a gap can stay spent until the next step.
  const anyKind = fc.constantFrom(...kinds.filter((kind) => !kind.includes("interval"))).chain(policyOf)
  const cases = [
    ...kinds.map((kind) => [kind, policyOf(kind).map((policy) => [policy])] as const),
    ["several policies", fc.array(anyKind, { minLength: 2, maxLength: 3 })] as const,
  ]
  test.each(cases)("%s", { timeout: 60_000 }, (_, policies) => {
    const found = search(policies, 16)
    expect(found.failed, fc.defaultReportMessage(found)).toBe(false)
  })

  test.each(cases)(
    "%s: the search finds a bug that loses units or gives back too many",
    { timeout: 60_000 },
    (of, policies) => {
      expect(search(policies, 17, neverLeft.change).failed).toBe(true)
      // Under this policy a refund removes the newest units, like giving back the last turn.
      const alike = of === "slidingLog"
      expect(search(policies, 17, leftAsGift.change).failed).toBe(!alike)
    },
  )
})
