import type { Policies } from "sluice"

/** The same cost under every policy: a number for one policy, a record by name for several. */
export function costOfEach(policies: Policies, units: number): number | Readonly<Record<string, number>> {
  if ("algorithm" in policies) return units
  return Object.fromEntries(Object.keys(policies).map((name) => [name, units]))
}
