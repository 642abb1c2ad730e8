import type { Decision, Limiter, PolicyDecision } from "sluice"
import { expect, test } from "vitest"
import { splitDecision } from "../../src/envoy/split-decision.js"

const policy = (name: string, remaining: number, retryAfter = 0): PolicyDecision => ({
  policy: name,
  allowed: retryAfter === 0,
  ...{ limit: 10, window: 1_000, remaining, retryAfter, resetAfter: 0 },
})
const decisionOf = (allowed: boolean, policies: readonly PolicyDecision[]): Decision => ({
  ...(policies[0] as PolicyDecision),
  ...{ allowed, policies, source: "store", degraded: false },
})
const claim = (name: string, policyNames = ["default"]) => ({
  limiter: { name } as Limiter,
  key: "k",
  policy: undefined,
  policyNames,
  hits: 1,
})
const noPeek = () => Promise.reject(new Error("the store is not asked"))

test("of several policies of a limiter, the one with the least left is told", async () => {
  const decision = decisionOf(true, [policy("a:x", 5), policy("a:y", 3), policy("b:default", 9)])
  const outcomes = await splitDecision(decision, [claim("a", ["x", "y"]), claim("b")], noPeek)
  expect(outcomes.map(({ isOver, level }) => [isOver, level?.remaining])).toEqual([
    [false, 3],
    [false, 9],
  ])
})

test("of several policies of a limiter that deny, the one with the longest wait is told", async () => {
  const decision = decisionOf(false, [policy("a:x", 0, 10), policy("a:y", 2, 50), policy("b:default", 9)])
  const outcomes = await splitDecision(decision, [claim("a", ["x", "y"]), claim("b")], noPeek)
  expect(outcomes.map(({ isOver, level }) => [isOver, level?.remaining])).toEqual([
    [true, 2],
    [false, 9],
  ])
})

test("a denial that blames no limit blames all of them, so that the request never passes uncharged", async () => {
  const decision = decisionOf(false, [policy("a:default", 5), policy("b:default", 9)])
  const outcomes = await splitDecision(decision, [claim("a"), claim("b")], noPeek)
  expect(outcomes.map(({ isOver }) => isOver)).toEqual([true, true])
})

test("a remembered denial leaves the other limits unknown, and the store is not asked", async () => {
  const decision = decisionOf(false, [policy("b:default", 0, 10)])
  const outcomes = await splitDecision(decision, [claim("a"), claim("b")], noPeek)
  expect(outcomes.map(({ isOver, level }) => [isOver, level?.remaining])).toEqual([
    [false, undefined],
    [true, 0],
  ])
})
