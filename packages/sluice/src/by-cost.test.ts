import { expect, test } from "vitest"
import { ByCost } from "./by-cost.js"
import { tokenBucket } from "./policy.js"

const policy = tokenBucket({ capacity: 10, refill: 1, every: "1s" })
const other = tokenBucket({ capacity: 10, refill: 1, every: "1s" })

test("values are found by the policy and the cost they were set for", () => {
  const values = new ByCost<string>()
  values.set(policy, 1, "one")
  values.set(policy, 5, "five")
  values.set(other, 5, "five of another")
  expect([values.get(policy, 1), values.get(policy, 5), values.get(other, 5)]).toEqual([
    "one",
    "five",
    "five of another",
  ])
  expect([values.get(policy, 2), values.get(other, 1)]).toEqual([undefined, undefined])
})

test("made-up costs take a bounded amount of memory", () => {
  const values = new ByCost<number>()
  for (let cost = 1; cost <= 10_000; cost += 1) values.set(policy, cost, cost)
  const kept = Array.from({ length: 10_000 }, (_, i) => values.get(policy, i + 1)).filter(
    (value) => value !== undefined,
  )
  expect(kept.length).toBeLessThanOrEqual(257)
  expect([values.get(policy, 1), values.get(policy, 10_000)]).toEqual([1, 10_000])
})
