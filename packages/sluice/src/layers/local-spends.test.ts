import { expect, test } from "vitest"
import { fixedWindow } from "../policy.js"
import { policyRef } from "../state-key.js"
import type { PolicyRequest } from "../store.js"
import { LocalSpends } from "./local-spends.js"

const ref = policyRef("api", "default")
const policy = fixedWindow({ limit: 10, window: "1m" })
const part = (key: string): PolicyRequest => ({ ref, key, policy, cost: 1 })

/** A list of at most ten keys, and the share that each has spent. */
function setUp() {
  const shares = new Map<string, number>()
  const spends = new LocalSpends(10, ({ key }) => shares.get(key) ?? 0)
  const spend = (key: string, share: number) => {
    shares.set(key, share)
    spends.add(key, "fw", part(key))
  }
  return { spends, shares, spend }
}

test("keys of which nothing counts any more are dropped, one with each look", () => {
  const { spends, shares, spend } = setUp()
  for (let i = 0; i < 10; i += 1) spend(`k${i}`, 0.5)
  for (let i = 0; i < 10; i += 1) spends.age()
  expect(spends.size).toBe(10)
  shares.clear()
  shares.set("k5", 0.5)
  for (let i = 0; i < 10; i += 1) spends.age()
  expect([spends.size, spends.has("k5")]).toEqual([1, true])
})

test("a full list takes a new key, and an exhausted one outlives those that were used once", () => {
  const { spends, spend } = setUp()
  spend("exhausted", 1)
  for (let i = 0; i < 1_000; i += 1) {
    spend(`junk ${i}`, 0.1)
    expect(spends.has(`junk ${i}`)).toBe(true)
  }
  expect([spends.size, spends.has("exhausted")]).toEqual([10, true])
  expect(spends.take("exhausted")).toEqual([part("exhausted")])
  expect(spends.take("exhausted")).toEqual([])
})
