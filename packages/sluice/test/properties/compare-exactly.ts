import fc from "fast-check"
import { fixedWindow, type Policy } from "sluice"
import type { PolicyRequest, StoreReply } from "sluice/store"
import { countingOf, parametersOf } from "../../src/algorithms/index.js"
import { anySize, costOf, EPOCH, edgesOf, forward, type Move, moved, type Size } from "../support/moves.js"
import { type Oracle, oracleOf } from "../support/oracles.js"
import { limitOf } from "../support/policy-kinds.js"
import { type Reference, ref, reference } from "../support/reference.js"

export interface Step {
  readonly move: Move
  readonly size: Size
  readonly count: number
  readonly mode: "spend" | "peek"
}

const step = fc.record<Step>({
  move: forward,
  size: anySize,
  count: fc.constantFrom(1, 1, 1, 2, 3, 5, 40, 9_000),
  mode: fc.constantFrom("spend", "spend", "spend", "peek"),
})

export function stepsOf(minLength: number, maxLength: number): fc.Arbitrary<Step[]> {
  return fc.array(step, { minLength, maxLength, size: "max" })
}

/** Denies every request. */
const hopeless: PolicyRequest = {
  ref,
  key: "hopeless",
  policy: fixedWindow({ limit: 1, window: "1s" }),
  cost: 2,
}

/** Plays steps on the TypeScript algorithm and on its oracle. Throws if they differ. Returns the number of steps. */
export function compareExactly(policy: Policy, history: readonly Step[]): number {
  const subject = reference()
  const oracle = oracleOf(policy)
  let now = EPOCH
  let edges: number[] = []
  for (const { move, size, count, mode } of history) {
    now = moved(now, move, { policy, edges })
    const part = { ref: ref, key: "key", policy, cost: costOf(size, policy) }
    const most = (of: number) => mostThatFit(oracle, BigInt(now), BigInt(part.cost), of)
    for (let n = 1; n <= 6; n += 1) {
      same(`room for ${n}`, subject.ask({ policies: [part], count: n, mode: "peek" }, now).granted, most(n))
    }
    const expected = most(count)
    const reply = subject.ask({ policies: [part], count, mode }, now)
    same("granted", reply.granted, expected)
    if (mode === "spend" && expected > 0) oracle.spend(BigInt(now), BigInt(expected) * BigInt(part.cost))
    compareLevel(oracle, part, now, reply)

    const denied = subject.ask({ policies: [part, hopeless], count: 1, mode: "spend" }, now)
    same("granted beside a policy that denies", denied.granted, 0)
    compareLevel(oracle, part, now, denied)
    compareWait(subject, oracle, part, now, denied)
    edges = edgesOf([part], reply, now)
  }
  return history.length
}

function compareLevel(oracle: Oracle, policy: PolicyRequest, now: number, reply: StoreReply): void {
  const { limit, remaining, resetAfter } = explained(policy, reply)
  same("limit", limit, limitOf(policy.policy))
  same("remaining", remaining, Number(oracle.remaining(BigInt(now))))
  same("resetAfter", resetAfter, inMilliseconds(oracle.untilEmpty(BigInt(now))))
}

function compareWait(
  subject: Reference,
  oracle: Oracle,
  policy: PolicyRequest,
  now: number,
  denied: StoreReply,
): void {
  const { limit, retryAfter } = explained(policy, denied)
  if (policy.cost > limit) {
    same("retryAfter", retryAfter, Number.POSITIVE_INFINITY)
    return
  }
  const wait = oracle.untilFits(BigInt(now), BigInt(policy.cost))
  same("retryAfter", retryAfter, inMilliseconds(wait))
  if (wait === 0n) return
  // A single request, and one with a count. They run through different code.
  for (const count of [1, 2]) {
    const passes = (us: number) =>
      Math.min(subject.ask({ policies: [policy], count, mode: "peek" }, now + us).granted, 1)
    same("granted after retryAfter", passes(retryAfter * 1_000), 1)
    same("granted a millisecond sooner", passes(retryAfter * 1_000 - 1_000), 0)
    same("granted after the exact wait", passes(Number(wait)), 1)
    same("granted a microsecond sooner", passes(Number(wait) - 1), 0)
  }
}

function explained({ policy, cost }: PolicyRequest, { levels }: StoreReply) {
  return countingOf(policy).algorithm.explain(parametersOf(policy, cost), levels[0] as readonly number[])
}

function same(what: string, received: number, exact: number): void {
  if (received !== exact) throw new Error(`${what} is ${received}, in exact arithmetic ${exact}`)
}

function mostThatFit(oracle: Oracle, now: bigint, units: bigint, count: number): number {
  let [fit, beyond] = [0, count + 1]
  while (beyond - fit > 1) {
    const n = Math.floor((fit + beyond) / 2)
    if (oracle.fits(now, BigInt(n) * units)) fit = n
    else beyond = n
  }
  return fit
}

function inMilliseconds(us: bigint): number {
  return Number((us + 999n) / 1_000n)
}
