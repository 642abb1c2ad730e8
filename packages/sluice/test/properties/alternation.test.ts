import fc from "fast-check"
import { fixedWindow, type Policy, tokenBucket } from "sluice"
import { describe, expect, test } from "vitest"
import { attempts, grantsOf } from "../support/adversary.js"
import { boundOf, checkBound, type Grant } from "../support/bounds.js"
import { EPOCH } from "../support/moves.js"
import { kinds, relativesOf } from "../support/policy-kinds.js"
import { ref, reference } from "../support/reference.js"
import { varied } from "../support/seed.js"

describe("two policies that alternate on one key each keep their own bound", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const holds = fc.property(relativesOf(kind), attempts, ([policy, relative], history) => {
      const [grants = []] = grantsOf(reference(), [policy, relative], history)
      checkBound(boundOf(policy), grants)
    })
    fc.assert(holds, { seed: varied(11), numRuns: 6_000 })
  })

  /** Which policy takes how many units at which microsecond. The bound of the first policy is checked. */
  type Turns = [at: number, turn: 0 | 1, units: number][]
  const cases: [name: string, policies: [Policy, Policy], turns: Turns][] = [
    [
      "a window cut by the clock after a longer one",
      [
        fixedWindow({ limit: 3, window: 5, align: "clock" }),
        fixedWindow({ limit: 3, window: 6, align: "clock" }),
      ],
      [
        [12_000, 1, 1],
        [17_999, 0, 2],
        [18_000, 0, 3],
        [20_000, 0, 3],
      ],
    ],
    [
      "a window from first use in the rest of one cut by the clock",
      [fixedWindow({ limit: 3, window: 10 }), fixedWindow({ limit: 3, window: 12, align: "clock" })],
      [
        [12_000, 0, 1],
        [21_999, 0, 2],
        [22_000, 1, 1],
        [23_999, 0, 2],
        [24_000, 0, 3],
      ],
    ],
    [
      "a staircase beside a continuous refill",
      [
        tokenBucket({ capacity: 10, refill: 10, every: 10, mode: "interval" }),
        tokenBucket({ capacity: 100_000, refill: 1_000, every: 1 }),
      ],
      [
        [0, 0, 1],
        [9_999, 0, 9],
        [9_999, 1, 1],
        [9_999, 0, 9],
        [14_999, 1, 1],
        [14_999, 0, 5],
      ],
    ],
  ]
  test.each(cases)("%s", (_, policies, turns) => {
    const subject = reference()
    const start = EPOCH - (EPOCH % 60_000)
    const grants: Grant[] = []
    for (const [at, turn, units] of turns) {
      const parts = [{ ref: ref, key: "key", policy: policies[turn], cost: 1 }]
      const { granted } = subject.ask({ policies: parts, count: units, mode: "spend" }, start + at)
      if (turn === 0 && granted > 0) grants.push({ at, units: granted })
    }
    checkBound(boundOf(policies[0]), grants)
  })
})

describe("a denial under one policy changes nothing for another", () => {
  test.each(kinds)("%s", { timeout: 60_000 }, (kind) => {
    const holds = fc.property(relativesOf(kind), attempts, ([policy, relative], history) => {
      const subject = reference()
      const see = (now: number, of: Policy) =>
        subject.ask({ policies: [{ ref, key: "key", policy: of, cost: 1 }], count: 3, mode: "peek" }, now)
      const watched = {
        ...subject,
        ask(request: Parameters<typeof subject.ask>[0], now: number) {
          const before = [policy, relative].map((of) => see(now, of))
          const reply = subject.ask(request, now)
          if (reply.granted === 0) expect([policy, relative].map((of) => see(now, of))).toEqual(before)
          return reply
        },
      }
      grantsOf(watched, [policy, relative], history)
    })
    fc.assert(holds, { seed: varied(12), numRuns: 700 })
  })
})
