import type { Policies } from "sluice"
import type { LogLine } from "./log-line.js"

/** Units, or units by policy. */
export type LineCost = number | Readonly<Record<string, number>>

/** The field with the cost, or one per policy. */
export type CostField = string | Readonly<Record<string, string>>

/** The cost of a line. Undefined if a field is missing or no whole number. */
export function costOf(entry: LogLine, cost: CostField | undefined): LineCost | undefined {
  if (cost === undefined) return 1
  if (typeof cost === "string") return units(entry.field(cost))
  const read = Object.entries(cost).map(([name, field]) => [name, units(entry.field(field))] as const)
  return read.some(([, value]) => value === undefined)
    ? undefined
    : (Object.fromEntries(read) as Record<string, number>)
}

function units(text = ""): number | undefined {
  const value = Number(text)
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined
}

/** Whether every policy costs nothing. A policy that is not named costs 1. */
export function isFree(policy: Policies, cost: LineCost): boolean {
  if (typeof cost === "number") return cost === 0
  return Object.keys(policy).every((name) => cost[name] === 0)
}
