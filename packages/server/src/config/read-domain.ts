import { fixedWindow, type Policies } from "sluice"
import type { DescriptorLimit, DescriptorRule, Domain, EnvoyUnit } from "./config.js"
import { type Cursor, shown } from "./cursor.js"
import { readPolicies } from "./read-policy.js"

/** Milliseconds in a unit. A month has 30 days and a year 365, as in Envoy's server. */
export const unitLengths: Readonly<Record<EnvoyUnit, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 30 * 86_400_000,
  year: 365 * 86_400_000,
}

export const MOST_REQUESTS = 2 ** 32 - 1

export const descriptorKeys = [
  ...["key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "detailed_metric"],
  ...["value_to_metric", "share_threshold", "metadata", "policy", "count_denied"],
] as const
export const rateLimitKeys = ["unit", "requests_per_unit", "unlimited", "name", "replaces"] as const

/** Descriptors may be nested this deep. */
const DEEPEST = 32

/** Reads `domain` and `descriptors` of Envoy's format, with `policy` and `count_denied` as extensions. */
export function readDomain(cursor: Cursor): Domain | undefined {
  const name = cursor.at("domain").exists
    ? cursor.at("domain").text()
    : cursor.fail("a configuration of descriptors needs a domain")
  if (name === undefined) return undefined
  const descriptors = readDescriptors(cursor.at("descriptors"), escaped(name), 1)
  return { name, descriptors }
}

/** The names of the limiters of a rule and of the rules in it. */
export function limiterNames({ limit, descriptors }: DescriptorRule): string[] {
  const nested = descriptors.flatMap(limiterNames)
  return limit?.kind === "policy" ? [limit.limiter, ...nested] : nested
}

function readDescriptors(cursor: Cursor, path: string, depth: number): DescriptorRule[] {
  if (!cursor.exists) return []
  if (depth > DEEPEST) {
    cursor.fail(`descriptors are nested more than ${DEEPEST} deep`)
    return []
  }
  const seen = new Set<string>()
  return (cursor.list() ?? []).flatMap((each) => {
    const rule = readDescriptor(each, path, depth)
    if (rule === undefined) return []
    const entry = entryName(rule.key, rule.value)
    if (seen.has(entry)) each.fail(`the descriptor ${shown(entry)} is there twice`)
    seen.add(entry)
    return [rule]
  })
}

function readDescriptor(cursor: Cursor, path: string, depth: number): DescriptorRule | undefined {
  const map = cursor.map(descriptorKeys)
  if (map === undefined) return undefined
  const key = map.at("key").exists ? map.at("key").text() : map.fail("a descriptor needs a key")
  if (key === undefined) return undefined
  const value = map.at("value").exists ? emptyOrText(map.at("value")) : undefined
  const flag = (name: string) => (map.at(name).exists ? (map.at(name).flag() ?? false) : false)
  const own = `${path}/${entryName(key, value)}`
  const shareThreshold = flag("share_threshold")
  if (shareThreshold && value?.includes("*") !== true) {
    map.failAt("share_threshold", "share_threshold needs a value with a wildcard (*)")
  }
  const metadata = map.at("metadata").exists ? map.at("metadata").map() : undefined
  return {
    key,
    value,
    limit: readLimit(map, own),
    shadowMode: flag("shadow_mode"),
    quotaMode: flag("quota_mode"),
    detailedMetric: flag("detailed_metric"),
    valueToMetric: flag("value_to_metric"),
    shareThreshold,
    metadata: metadata?.value as Record<string, unknown> | undefined,
    descriptors: readDescriptors(map.at("descriptors"), own, depth + 1),
  }
}

/** Envoy treats an empty value as none. */
function emptyOrText(cursor: Cursor): string | undefined {
  return cursor.value === "" ? undefined : cursor.text()
}

function readLimit(map: Cursor, limiter: string): DescriptorLimit | undefined {
  const [limit, policy] = [map.at("rate_limit"), map.at("policy")]
  const countDenied = map.at("count_denied").exists ? (map.at("count_denied").flag() ?? false) : false
  if (!policy.exists) return limit.exists ? readRateLimit(limit, limiter, countDenied) : undefined
  // Beside a policy, rate_limit may only say how rules replace each other.
  const fields = limit.exists ? limit.map(rateLimitKeys) : undefined
  if (["unit", "requests_per_unit", "unlimited"].some((key) => fields?.at(key).exists)) {
    return map.failAt("policy", "policy takes the place of unit and requests_per_unit; leave one of them out")
  }
  const names = fields === undefined ? { name: undefined, replaces: [] } : readNames(fields)
  const policies = readPolicies(policy)
  return policies && { kind: "policy", limiter, policy: policies, countDenied, ...names }
}

function readNames(map: Cursor): Pick<DescriptorLimit, "name" | "replaces"> {
  const name = map.at("name").exists ? emptyOrText(map.at("name")) : undefined
  return { name, replaces: map.at("replaces").exists ? readReplaces(map.at("replaces"), name) : [] }
}

function readRateLimit(cursor: Cursor, limiter: string, countDenied: boolean): DescriptorLimit | undefined {
  const map = cursor.map(rateLimitKeys)
  if (map === undefined) return undefined
  const { name, replaces } = readNames(map)
  const isUnlimited = map.at("unlimited").exists && map.at("unlimited").flag() === true
  const unit = map.at("unit").exists ? readUnit(map.at("unit")) : undefined
  if (isUnlimited) {
    if (unit !== undefined) return map.failAt("unit", "unlimited takes no unit")
    return { kind: "unlimited", name, replaces }
  }
  if (!map.at("unit").exists)
    return map.fail("rate_limit needs a unit: second, minute, hour, day, week, month or year")
  const count = map.at("requests_per_unit")
  const limit = count.exists ? count.integer(0, MOST_REQUESTS) : 0
  if (unit === undefined || limit === undefined) return undefined
  if (limit === 0) return { kind: "blocked", unit, name, replaces }
  return { kind: "policy", limiter, policy: policyOf(limit, unit), countDenied, name, replaces }
}

/** The policy for a limit of Envoy's: a window that is cut at multiples of the unit. */
export function policyOf(limit: number, unit: EnvoyUnit): Policies {
  return fixedWindow({ limit, window: unitLengths[unit], align: "clock" })
}

function readUnit(cursor: Cursor): EnvoyUnit | undefined {
  const unit = String(cursor.value).toLowerCase()
  if (Object.hasOwn(unitLengths, unit)) return unit as EnvoyUnit
  return cursor.fail(`unit must be one of ${Object.keys(unitLengths).join(", ")}, got ${shown(cursor.value)}`)
}

function readReplaces(cursor: Cursor, own: string | undefined): string[] {
  return (cursor.list() ?? []).flatMap((each) => {
    const map = each.map(["name"])
    if (map === undefined) return []
    const name = map.at("name").exists
      ? map.at("name").text()
      : map.fail("replaces needs the name of a rate_limit")
    if (name === undefined) return []
    if (name === own) map.fail(`the rate_limit ${shown(name)} replaces itself`)
    return [name]
  })
}

/** An entry as it stands in names and keys: `key` or `key=value`. */
export function entryName(key: string, value: string | undefined): string {
  return value === undefined ? escaped(key) : `${escaped(key)}=${escaped(value)}`
}

/** Escapes the characters that separate entries, so that no two paths have one name. */
export function escaped(text: string): string {
  return text.replaceAll(/[%/=]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}
