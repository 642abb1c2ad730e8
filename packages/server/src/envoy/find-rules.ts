import type { DescriptorRule, Domain } from "../config/config.js"
import { entryName } from "../config/read-domain.js"
import type { Entry } from "./messages.js"

/** The rule that applies to a descriptor of a request. */
export interface FoundRule {
  readonly rule: DescriptorRule
  /** The key of its counter: `key=value/key=value` of the request. A shared wildcard takes the place of its values. */
  readonly key: string
  /** The descriptor in metrics: the path of the rule, with values of the request where the rule wants them. */
  readonly label: string
}

/** A rule with its nested rules, prepared for lookups. */
interface Node {
  readonly rule: DescriptorRule
  /** Its path in the domain, such as `message_type=marketing/to_number`. */
  readonly path: string
  readonly level: Level
}

/** The rules of one level by key. */
type Level = ReadonlyMap<string, RulesOfKey>

interface RulesOfKey {
  readonly exact: Map<string, Node>
  /** In the order of the file. */
  readonly wildcards: { readonly matches: (value: string) => boolean; readonly node: Node }[]
  bare: Node | undefined
}

const levels = new WeakMap<Domain, Level>()

/**
 * Finds the rule for a descriptor. Each entry selects a rule of its level: first by key and value, then by wildcard, then by
 * key alone. Only the rule of the last entry applies.
 */
export function findRule(domain: Domain, entries: readonly Entry[]): FoundRule | undefined {
  let level: Level | undefined = levelOf(domain)
  let node: Node | undefined
  let key = ""
  let label: string | undefined
  for (const { key: entryKey, value } of entries) {
    const before: Node | undefined = node
    node = selectNode(level.get(entryKey), value)
    if (node === undefined) return undefined
    const { rule } = node
    const counted = entryName(entryKey, rule.shareThreshold ? (rule.value as string) : value)
    key = key === "" ? counted : `${key}/${counted}`
    if (rule.valueToMetric || label !== undefined) {
      const parent = label ?? before?.path
      const own = rule.valueToMetric ? counted : entryName(rule.key, rule.value)
      label = parent === undefined ? own : `${parent}/${own}`
    }
    level = node.level
  }
  if (node === undefined) return undefined
  return { rule: node.rule, key, label: node.rule.detailedMetric ? key : (label ?? node.path) }
}

function selectNode(rules: RulesOfKey | undefined, value: string): Node | undefined {
  if (rules === undefined) return undefined
  return rules.exact.get(value) ?? rules.wildcards.find(({ matches }) => matches(value))?.node ?? rules.bare
}

function levelOf(domain: Domain): Level {
  let level = levels.get(domain)
  if (level === undefined) {
    level = prepare(domain.descriptors, "")
    levels.set(domain, level)
  }
  return level
}

function prepare(rules: readonly DescriptorRule[], parent: string): Level {
  const level = new Map<string, RulesOfKey>()
  for (const rule of rules) {
    const { key, value } = rule
    const path = parent + entryName(key, value)
    const node: Node = { rule, path, level: prepare(rule.descriptors, `${path}/`) }
    const ofKey: RulesOfKey = level.get(key) ?? { exact: new Map(), wildcards: [], bare: undefined }
    level.set(key, ofKey)
    if (value === undefined) ofKey.bare = node
    else if (value.includes("*")) ofKey.wildcards.push({ matches: matcher(value), node })
    else ofKey.exact.set(value, node)
  }
  return level
}

/**
 * A function that says whether a value matches a pattern. It searches the text between the stars from left to right and never
 * goes back, so a value made by an attacker cannot make it slow.
 */
export function matcher(pattern: string): (value: string) => boolean {
  const parts = pattern.split("*")
  const head = parts[0] as string
  const tail = parts.at(-1) as string
  const middle = parts.slice(1, -1).filter((part) => part !== "")
  return (value) => {
    if (value.length < head.length + tail.length || !value.startsWith(head) || !value.endsWith(tail))
      return false
    const end = value.length - tail.length
    let at = head.length
    for (const part of middle) {
      const found = value.indexOf(part, at)
      if (found < 0 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}
