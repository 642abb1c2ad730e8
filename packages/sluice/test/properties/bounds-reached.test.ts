import { fixedWindow, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from "sluice"
import { expect, test } from "vitest"
import { boundOf } from "../support/bounds.js"
import { EPOCH } from "../support/moves.js"
import { ref, reference } from "../support/reference.js"

const second = 1_000_000

/** Takes `units` at each moment. Those from `from` on reach the bound exactly. */
const cases: [name: string, policy: Policy, taken: [at: number, units: number][], from: number][] = [
  [
    "fixedWindow first: all but the unit that opened the first window, and two windows more",
    fixedWindow({ limit: 10, window: "1s" }),
    [
      [0, 1],
      [second - 1, 9],
      [second, 10],
      [2 * second, 10],
    ],
    1,
  ],
  [
    "fixedWindow clock: all of a window, and two windows more",
    fixedWindow({ limit: 10, window: "1s", align: "clock" }),
    [
      [second - 1, 10],
      [second, 10],
      [2 * second, 10],
    ],
    0,
  ],
  [
    "slidingLog: all of a window at its beginning, twice",
    slidingLog({ limit: 10, window: "1s" }),
    [
      [0, 10],
      [second, 10],
    ],
    0,
  ],
  [
    "slidingWindow: all of a window at its beginning, twice",
    slidingWindow({ limit: 10, window: "1s", buckets: 7 }),
    [
      [0, 10],
      [second, 10],
    ],
    0,
  ],
  [
    "tokenBucket continuous: the capacity, and each unit as it drips in",
    tokenBucket({ capacity: 10, refill: 4, every: "1s" }),
    [
      [0, 10],
      [second / 4, 1],
      [second, 3],
    ],
    0,
  ],
  [
    "tokenBucket interval: the capacity just before a step, and the refill of it and of the next",
    tokenBucket({ capacity: 10, refill: 4, every: "1s", mode: "interval" }),
    [
      [0, 1],
      [2 * second - 1, 10],
      [2 * second, 4],
      [3 * second, 4],
    ],
    1,
  ],
  [
    "leakyBucket: the capacity, and each unit as it leaks",
    leakyBucket({ capacity: 10, leak: 4, every: "1s" }),
    [
      [0, 10],
      [second / 4, 1],
      [second, 3],
    ],
    0,
  ],
]

test.each(cases)("the bound is reached by %s", (_, policy, taken, from) => {
  const subject = reference()
  const start = EPOCH - (EPOCH % second)
  for (const [at, units] of taken) {
    const policies = [{ ref: ref, key: "key", policy, cost: 1 }]
    expect(subject.ask({ policies, count: units, mode: "spend" }, start + at).granted).toBe(units)
  }
  const within = taken.slice(from)
  const units = BigInt(within.reduce((sum, [, each]) => sum + each, 0))
  const span = BigInt((within.at(-1)?.[0] ?? 0) - (within[0]?.[0] ?? 0))
  expect(boundOf(policy)(units, span)).toBe(true)
  expect(boundOf(policy)(units + 1n, span)).toBe(false)
})
