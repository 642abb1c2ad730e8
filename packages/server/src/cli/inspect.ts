import type { Inspection } from "sluice"
import type { Rule } from "sluice/rules"
import { type Command, wantsJson } from "./command.js"
import { count, duration, json, type Paint, painter, printable, table } from "./format.js"
import { ruleWords } from "./rule-words.js"
import { clientOf, limiterAndKey, serverOptions } from "./server-options.js"

export const inspectCommand: Command = {
  summary: "show what is stored for a key, and the rule that applies to it",
  usage: "sluice inspect <limiter> <key>",
  options: serverOptions,
  examples: ["sluice inspect api alice", "sluice inspect api alice --json"],
  async run(args, terminal) {
    const [limiter, key] = limiterAndKey(args, "inspect")
    const inspection = await clientOf(args, terminal).limiter(limiter).inspect(key)
    if (wantsJson(args)) terminal.out(json(inspection))
    else terminal.out(words(limiter, inspection, painter(terminal)))
    return 0
  },
}

function words(limiter: string, { key, policies, rule, mode, degraded }: Inspection, paint: Paint): string {
  const rows = policies.map(({ policy, used, limit, remaining, retryAfter, resetAfter }) => [
    `  ${printable(policy)}`,
    `${count(used)} of ${count(limit)} used`,
    retryAfter > 0 ? `${count(remaining)} left, next in ${duration(retryAfter)}` : `${count(remaining)} left`,
    resetAfter > 0 ? `nothing spent in ${duration(resetAfter)}` : "nothing spent",
  ])
  const lines = [paint("bold", `${printable(limiter)}, ${printable(key)}`), ...table(rows)]
  if (rule !== undefined) lines.push(`  rule: ${ruleWords(rule as Rule)}`)
  if (mode === "observe") lines.push("  The limiter only observes this key.")
  if (degraded) lines.push(paint("yellow", "  The store did not answer, so these are not its numbers."))
  return `${lines.join("\n")}\n`
}
