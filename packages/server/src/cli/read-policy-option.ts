import type { Policies } from "sluice"
import { ConfigFile } from "../config/cursor.js"
import { readPolicies } from "../config/read-policy.js"
import { UsageError } from "./command.js"

/** Reads a policy, or several by name, from JSON or YAML on the command line. JSON is YAML too. */
export function readPolicyOption(text: string): Policies {
  const file = new ConfigFile("--policy", text)
  const policies = file.problems.length === 0 ? readPolicies(file.root) : undefined
  const [problem] = file.problems
  if (problem !== undefined || policies === undefined) {
    throw new UsageError(
      `--policy, column ${problem?.column ?? 1}: ${problem?.message ?? "must not be empty"}`,
    )
  }
  return policies
}
