import { fixedWindow, leakyBucket, type Policy, tokenBucket } from "sluice"
import { expect, test } from "vitest"
import { type Numbers, zeros } from "../../src/algorithm.js"
import { countingOf, termsOf } from "../../src/algorithms/index.js"
import { twinOf } from "../../src/algorithms/twin.js"
import { dice } from "../support/dice.js"
import { EPOCH } from "../support/moves.js"

/** Policies that may count in one state, by what they are called. */
const families: Record<string, readonly Policy[]> = {
  "fixed windows": [
    fixedWindow({ limit: 20, window: 40 }),
    fixedWindow({ limit: 30, window: 25 }),
    fixedWindow({ limit: 20, window: 40, align: "clock" }),
    fixedWindow({ limit: 20, window: 80, align: "clock" }),
    fixedWindow({ limit: 20, window: 3_000, align: "clock" }),
  ],
  "token buckets": [
    tokenBucket({ capacity: 20, refill: 1, every: 3 }),
    tokenBucket({ capacity: 35, refill: 1, every: 2 }),
    tokenBucket({ capacity: 20, refill: 7, every: 10 }),
    tokenBucket({ capacity: 20, refill: 5, every: 20, mode: "interval" }),
    tokenBucket({ capacity: 200, refill: 1, every: 2_000 }),
  ],
  "leaky buckets": [
    leakyBucket({ capacity: 20, leak: 1, every: 3 }),
    leakyBucket({ capacity: 30, leak: 7, every: 10 }),
  ],
}

test.each(Object.keys(families))("what spends plainly does as take does, to the bit: %s", (family) => {
  const policies = families[family] as readonly Policy[]
  let plain = 0
  for (let seed = 1; seed <= 300; seed += 1) {
    const roll = dice(seed)
    const cells = zeros()
    let now = EPOCH
    let isThere = false
    for (let step = 0; step < 40; step += 1) {
      // mostly a little later, now and then long after, or before
      now += roll(20) === 0 ? roll(400_000) - 100_000 : roll(40) === 0 ? -roll(9_000_000) : roll(6_000)
      const policy = policies[roll(4) === 0 ? roll(policies.length) : seed % policies.length] as Policy
      const { algorithm } = countingOf(policy)
      const terms = termsOf(policy, 1 + (roll(3) === 0 ? roll(5) : 0))
      const before = isThere ? copyOf(cells) : zeros()
      const spent = algorithm.spendPlain?.(terms, before, 0, now)
      if (spent === undefined) {
        expect(numbersOf(before)).toEqual(numbersOf(isThere ? cells : zeros()))
      } else {
        plain += 1
        const long = isThere ? copyOf(cells) : zeros()
        const view = algorithm.read(terms, isThere ? long : undefined, 0, now)
        expect(algorithm.room(terms, view, 1)).toBe(1)
        const expiresAt = algorithm.take(terms, view, 1, long, 0)
        const { retryAfter, ...explained } = algorithm.explain(
          terms,
          algorithm.tell(terms, view, false),
          true,
        )
        expect(spent).toEqual({ ...explained, expiresAt })
        expect(retryAfter).toBe(0)
        expect(numbersOf(before)).toEqual(numbersOf(long))
      }
      const act = roll(10)
      const view = algorithm.read(terms, isThere ? cells : undefined, 0, now)
      if (act < 6) {
        if (algorithm.room(terms, view, 1) === 1) isThere = algorithm.take(terms, view, 1, cells, 0) > 0
      } else if (act === 6) isThere = algorithm.charge(terms, view, 50_000, cells, 0) > 0
      else if (act === 7 && isThere) isThere = algorithm.give(terms, view, undefined, cells, 0) > 0
      else if (act === 8) {
        // a turn is booked
        const wait = algorithm.turn(terms, view)
        if (wait < 100_000) {
          const then = algorithm.read(terms, isThere ? cells : undefined, 0, now + wait)
          isThere = algorithm.take(terms, then, 1, cells, 0, wait) > 0
        }
      } else if (isThere) algorithm.mend(terms, view, cells, 0)
    }
  }
  expect(plain).toBeGreaterThan(1_000)
})

test.each(Object.keys(families))("what explains plainly says as the long way does: %s", (family) => {
  const roll = dice(1)
  let plain = 0
  for (const policy of families[family] as readonly Policy[]) {
    const { algorithm } = countingOf(policy)
    const twin = twinOf(policy)
    const terms = termsOf(policy, 1)
    for (let step = 0; step < 2_000; step += 1) {
      const cells = zeros()
      const owed = termsOf(policy, 1 + roll(40))
      algorithm.charge(owed, algorithm.read(owed, undefined, 0, EPOCH), 0, cells, 0)
      const level = algorithm.tell(terms, algorithm.read(terms, cells, 0, EPOCH + roll(9_000)), false)
      const [times, us] = [roll(30), roll(60_000)]
      const told = twin.explainPlain?.(terms, level, times, us)
      if (told === undefined) continue
      plain += 1
      const aged = twin.later(terms, twin.before(terms, level, times), us)
      expect({ ...told, retryAfter: 0 }).toEqual(algorithm.explain(terms, aged, true))
    }
  }
  expect(plain > 1_000).toBe(family !== "fixed windows")
})

function copyOf(cells: Numbers): Numbers {
  const copy = zeros()
  copy.near.set(cells.near)
  copy.far().set(cells.far())
  return copy
}

function numbersOf(cells: Numbers): number[] {
  return [...cells.near, ...cells.far()]
}
