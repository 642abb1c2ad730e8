import type { Policy } from "sluice"
import type { Change, Rule } from "sluice/rules"
import { duration, printable } from "./format.js"

/** A rule or a change in one line, without its limiter and key. */
export function ruleWords({ action, policies, until, reason, by }: Rule | Change): string {
  const parts = [
    action === "limit"
      ? Object.entries(policies ?? {})
          .map(policyWords)
          .join(", ")
      : action,
  ]
  if (until !== undefined) parts.push(`until ${moment(until)}`)
  if (reason !== undefined) parts.push(`reason: ${printable(reason)}`)
  if (by !== undefined) parts.push(`by ${printable(by)}`)
  return parts.join(", ")
}

/** The key or pattern of a rule. */
export function targetWords({
  key,
  pattern,
}: {
  key?: string | undefined
  pattern?: string | undefined
}): string {
  return printable(key ?? pattern ?? "")
}

export function moment(date: Date): string {
  return date.toISOString().slice(0, 19).replace("T", " ")
}

const times = ["window", "every"]
/** Values that go without saying. */
const defaults: readonly unknown[] = ["continuous", "first"]

function policyWords([name, { algorithm, ...options }]: [string, Policy]): string {
  const said = Object.entries(options)
    .filter(([, value]) => !defaults.includes(value))
    .map(
      ([option, value]) => `${option} ${times.includes(option) ? duration(value as number) : String(value)}`,
    )
  const prefix = name === "default" ? "" : `${printable(name)}: `
  return `${prefix}${algorithm} ${said.join(" ")}`
}
