import { type Cost, combine, type Limiter, type Policies } from "sluice"
import { unitLengths } from "../config/read-domain.js"
import { type Outcome, outcomeOf } from "./outcomes.js"
import { splitDecision } from "./split-decision.js"
import type { LimitedTarget, Target } from "./targets.js"

export type Limited = Target & LimitedTarget

/**
 * Charges the targets of a request. Those that can deny it are charged all or nothing, in one atomic step. A request that is
 * denied charges nothing at all, except where a rule counts denied hits too.
 */
export async function decideTargets(
  targets: readonly (Target | undefined)[],
): Promise<(Outcome | undefined)[]> {
  const outcomes: (Outcome | undefined)[] = []
  const roles: Role[] = []
  for (const target of targets) {
    outcomes.push(target?.kind === "blocked" ? blocked(target) : undefined)
    roles.push(roleOf(target))
  }
  const each = async (role: Role, call: (target: Limited) => Promise<Outcome>) => {
    const calls = targets.map(async (target, i) => {
      if (roles[i] === role) outcomes[i] = await call(target as Limited)
    })
    await Promise.all(calls)
  }
  const has = (role: Role) => roles.includes(role)

  if (has("refund") || has("peek") || has("count")) {
    await Promise.all([each("refund", refund), each("peek", peek), each("count", count)])
  }
  // Ask the quotas before the others are charged, because they can deny too.
  if (has("quota") && has("spend")) await each("quota", peek)
  if (has("spend")) {
    if (isDenied(targets, outcomes)) await each("spend", peek)
    else await spendTogether(targets, roles, outcomes)
  }
  if (has("quota")) {
    const isCharged = has("spend") && !isDenied(targets, outcomes)
    await each("quota", isDenied(targets, outcomes) ? peek : spend)
    // Since they were asked, other requests may have used the quotas up.
    if (isCharged && isDenied(targets, outcomes)) await each("spend", refund)
  }
  if (has("shadow")) await each("shadow", isDenied(targets, outcomes) ? peek : spend)
  return outcomes
}

/** Whether the targets deny the request: one that enforces is over its limit, or all that are quotas. */
export function isDenied(
  targets: readonly (Target | undefined)[],
  outcomes: readonly (Outcome | undefined)[],
): boolean {
  let [quotas, over] = [0, 0]
  for (const [i, target] of targets.entries()) {
    if (target === undefined || target.isShadow) continue
    const isOver = outcomes[i]?.isOver === true
    if (!target.isQuota && isOver) return true
    if (target.isQuota) quotas += 1
    if (target.isQuota && isOver) over += 1
  }
  return quotas > 0 && over === quotas
}

type Role = "none" | "refund" | "peek" | "count" | "shadow" | "quota" | "spend"

/** How a target is charged. */
function roleOf(target: Target | undefined): Role {
  if (target?.kind !== "limited") return "none"
  if (target.hits < 0) return "refund"
  if (target.hits === 0) return "peek"
  if (target.countDenied) return "count"
  if (target.isShadow) return "shadow"
  return target.isQuota ? "quota" : "spend"
}

const peek = async ({ limiter, key, policy, policyNames, hits }: Claimed) =>
  outcomeOf(await limiter.peek(key, { cost: costOf(policyNames, Math.max(hits, 1)), policy }))

const spend = async ({ limiter, key, policy, policyNames, hits }: Claimed) =>
  outcomeOf(await limiter.tryAcquire(key, { cost: costOf(policyNames, hits), policy }))

const count = async ({ limiter, key, policy, policyNames, hits }: Claimed) =>
  outcomeOf(await limiter.charge(key, costOf(policyNames, hits), { policy }))

/** Gives hits back. The descriptor passes, whatever is left. */
const refund = async (target: Limited): Promise<Outcome> => {
  const { limiter, key, policy, policyNames, hits } = target
  await limiter.refund(key, costOf(policyNames, Math.abs(hits)), { policy })
  return { ...(await peek(target)), isOver: false }
}

/** Hits on one counter, which several descriptors of a request may share. */
export interface Claimed {
  readonly limiter: Limiter
  readonly key: string
  policy: Policies | undefined
  readonly policyNames: readonly string[]
  hits: number
}

async function spendTogether(
  targets: readonly (Target | undefined)[],
  roles: readonly Role[],
  outcomes: (Outcome | undefined)[],
): Promise<void> {
  const claims = new Map<string, Claimed & { readonly members: number[] }>()
  for (const [i, target] of targets.entries()) {
    if (roles[i] !== "spend") continue
    const { limiter, key, policy, policyNames, hits } = target as Limited
    const counter = `${limiter.name.length}:${limiter.name}${key}`
    const claim = claims.get(counter)
    if (claim === undefined) {
      claims.set(counter, { limiter, key, policy, policyNames, hits, members: [i] })
      continue
    }
    claim.hits = Math.min(claim.hits + hits, Number.MAX_SAFE_INTEGER)
    claim.policy = stricter(claim.policy, policy)
    claim.members.push(i)
  }
  const all = [...claims.values()]
  const decided = all.length === 1 ? [await spend(all[0] as Claimed)] : await spendAll(all)
  for (const [place, { members }] of all.entries()) for (const i of members) outcomes[i] = decided[place]
}

async function spendAll(claims: readonly Claimed[]): Promise<Outcome[]> {
  const decision = await combine(
    claims.map(({ limiter, key, policy, policyNames, hits }) =>
      limiter.on(key, { cost: costOf(policyNames, hits), policy }),
    ),
  ).tryAcquire()
  return splitDecision(decision, claims, peek)
}

/** Of two limits that a request brings for one counter, the lower one. */
function stricter(a: Policies | undefined, b: Policies | undefined): Policies | undefined {
  const limit = (policy: Policies | undefined) => (policy as { limit?: number } | undefined)?.limit ?? 0
  return limit(b) < limit(a) ? b : a
}

/** Every policy of a limiter is charged the same hits. */
function costOf(policyNames: readonly string[], hits: number): Cost<Policies> {
  if (policyNames.length === 1 && policyNames[0] === "default") return hits
  return Object.fromEntries(policyNames.map((name) => [name, hits]))
}

/** A limit of 0 denies everything. It resets at the end of the unit, as in Envoy's own server. */
function blocked({ unit, hits }: Target & { kind: "blocked" }): Outcome {
  const window = unitLengths[unit]
  const resetAfter = window - (Date.now() % window)
  return { isOver: hits >= 0, level: { limit: 0, window, remaining: 0, resetAfter } }
}
