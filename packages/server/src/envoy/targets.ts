import type { Limiter, Policies } from "sluice"
import type { Domain, EnvoyUnit } from "../config/config.js"
import { entryName, policyOf } from "../config/read-domain.js"
import type { Engine } from "../engine.js"
import { findRule } from "./find-rules.js"
import { hitsOf, type RateLimitDescriptor, type RateLimitRequest } from "./messages.js"
import { overrideLimiter, overrideUnit } from "./override-limiter.js"

/** The limit that applies to a descriptor of a request. */
export type Target = {
  /** By this name, other rules replace this one. */
  readonly name: string | undefined
  readonly replaces: readonly string[]
  /** The descriptor in metrics. */
  readonly label: string
  /** Negative hits are given back. 0 reads the counter and does not change it. */
  readonly hits: number
  /** Counts, and never denies. */
  readonly isShadow: boolean
  /** Denies only if all such targets of the request are over their limits. */
  readonly isQuota: boolean
} & ({ readonly kind: "unlimited" } | { readonly kind: "blocked"; readonly unit: EnvoyUnit } | LimitedTarget)

export interface LimitedTarget {
  readonly kind: "limited"
  readonly limiter: Limiter
  readonly key: string
  /** The policy of a request that brings its own limit. */
  readonly policy: Policies | undefined
  /** Hits count even if they are denied. */
  readonly countDenied: boolean
  readonly policyNames: readonly string[]
}

/** The targets of a request by descriptor. A descriptor without a rule, or with one that another rule replaces, has none. */
export function targetsOf(engine: Engine, domain: Domain, request: RateLimitRequest): (Target | undefined)[] {
  const targets = request.descriptors.map((descriptor) => {
    const hits = hitsOf(request, descriptor)
    return descriptor.limit == null
      ? targetOfRule(engine, domain, descriptor, hits)
      : targetOfOverride(engine, domain, descriptor, hits)
  })
  if (targets.every((target) => target === undefined || target.replaces.length === 0)) return targets
  const replaced = new Set(targets.flatMap((target) => target?.replaces ?? []))
  return targets.map((target) =>
    target?.name !== undefined && replaced.has(target.name) ? undefined : target,
  )
}

function targetOfRule(
  engine: Engine,
  domain: Domain,
  { entries }: RateLimitDescriptor,
  hits: number,
): Target | undefined {
  const found = findRule(domain, entries)
  const limit = found?.rule.limit
  if (found === undefined || limit === undefined) return undefined
  const { rule, key, label } = found
  const { name, replaces } = limit
  const { shadowMode: isShadow } = rule
  const isQuota = rule.quotaMode && !isShadow
  if (limit.kind === "unlimited") return { kind: "unlimited", name, replaces, label, hits, isShadow, isQuota }
  if (limit.kind === "blocked") {
    return { kind: "blocked", unit: limit.unit, name, replaces, label, hits, isShadow, isQuota }
  }
  return {
    kind: "limited",
    limiter: engine.limiter(limit.limiter) as Limiter,
    key,
    policy: undefined,
    policyNames: isSingle(limit.policy) ? single : Object.keys(limit.policy),
    countDenied: limit.countDenied,
    name,
    replaces,
    label,
    hits,
    isShadow,
    isQuota,
  }
}

const single: readonly string[] = ["default"]

function isSingle(policies: Policies): boolean {
  return typeof policies.algorithm === "string"
}

/** A limit that came with the request. It has no shadow mode, whatever the rule of the descriptor says. */
function targetOfOverride(
  engine: Engine,
  domain: Domain,
  { entries, limit }: RateLimitDescriptor,
  hits: number,
): Target {
  const { requestsPerUnit, unit: given } = limit as NonNullable<typeof limit>
  const unit = overrideUnit(given)
  const common = { name: undefined, replaces: [], label: "override", hits, isShadow: false, isQuota: false }
  if (requestsPerUnit === 0) return { ...common, kind: "blocked", unit }
  return {
    ...common,
    kind: "limited",
    limiter: overrideLimiter(engine, domain.name),
    key: [unit, ...entries.map(({ key, value }) => entryName(key, value))].join("/"),
    policy: policyOf(requestsPerUnit, unit),
    countDenied: false,
    policyNames: single,
  }
}
