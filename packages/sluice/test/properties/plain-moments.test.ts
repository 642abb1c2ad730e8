import { expect, test } from "vitest"
import { type Cells, zeros } from "../../src/algorithm.js"
import { countingOf, termsOf } from "../../src/algorithms/index.js"
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "../../src/policy.js"
import { dice } from "../support/dice.js"

/** Policies that a key may be counted under in turns: times are short, so that moments meet. */
const kinds: Record<string, readonly Policy[]> = {
  fixedWindow: [
    fixedWindow({ limit: 9, window: 3 }),
    fixedWindow({ limit: 9, window: 5 }),
    fixedWindow({ limit: 9, window: 2, align: "clock" }),
  ],
  slidingLog: [slidingLog({ limit: 9, window: 3 }), slidingLog({ limit: 9, window: 1 })],
  slidingWindow: [
    slidingWindow({ limit: 9, window: 4, buckets: 2 }),
    slidingWindow({ limit: 9, window: 2, buckets: 1 }),
    slidingWindow({ limit: 9, window: 7, buckets: 3 }),
  ],
  tokenBucket: [
    tokenBucket({ capacity: 9, refill: 7, every: 3 }),
    tokenBucket({ capacity: 9, refill: 3, every: 1 }),
    tokenBucket({ capacity: 9, refill: 1, every: 1 }),
    tokenBucket({ capacity: 4, refill: 700, every: 1 }),
    tokenBucket({ capacity: 9, refill: 2, every: 1, mode: "interval" }),
  ],
  leakyBucket: [
    leakyBucket({ capacity: 9, leak: 7, every: 3 }),
    leakyBucket({ capacity: 9, leak: 1, every: 1 }),
  ],
}

/** A state that is counted the short way where that will do, and one that never is. */
function play(policies: readonly Policy[], roll: (sides: number) => number): number {
  const { algorithm } = countingOf(policies[0] as Policy)
  const make = (): Cells => (algorithm.inNumbers ? zeros() : [])
  let [short, long] = [make(), make()]
  let isThere = false
  let now = 1_780_000_000_000_000
  let plain = 0
  for (let step = 0; step < 60; step += 1) {
    now += roll(5) === 0 ? -roll(2_000) : roll(3) === 0 ? roll(9_000) : roll(700)
    const terms = termsOf(policies[roll(policies.length)] as Policy, 1 + roll(3))
    const view = () => algorithm.read(terms, isThere ? long : undefined, 0, now)
    const take = (cells: Cells, lead = 0) =>
      algorithm.take(
        terms,
        algorithm.read(terms, isThere ? cells : undefined, 0, now + lead),
        1,
        cells,
        0,
        lead,
      )
    if (algorithm.room(terms, view(), 1) === 0) {
      expect(algorithm.spendPlain?.(terms, short, 0, now)).toBe(undefined)
    } else if (roll(8) === 0) {
      // a turn of somebody who waits
      const wait = algorithm.turn(terms, view()) + roll(1_500)
      for (const cells of [short, long]) take(cells, wait)
      isThere = true
    } else {
      const spent = algorithm.spendPlain?.(terms, short, 0, now)
      const expiresAt = take(long)
      if (spent === undefined) take(short)
      else {
        plain += 1
        const { limit, remaining, resetAfter } = algorithm.explain(
          terms,
          algorithm.tell(terms, algorithm.read(terms, long, 0, now), false),
          true,
        )
        expect(spent).toEqual({ expiresAt, limit, remaining, resetAfter })
      }
      isThere = true
    }
    expect(stateOf(short)).toEqual(stateOf(long))
    if (roll(40) === 0) {
      ;[short, long] = [make(), make()]
      isThere = false
    }
  }
  return plain
}

function stateOf(cells: Cells): unknown {
  return "near" in cells ? [...cells.near] : cells
}

test.each(Object.keys(kinds))("what is spent in few words is what is spent in many: %s", (kind) => {
  let plain = 0
  for (let seed = 1; seed <= 400; seed += 1) plain += play(kinds[kind] as readonly Policy[], dice(seed))
  expect(plain).toBeGreaterThan(1_000)
})
