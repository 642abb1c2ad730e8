import type { Decision } from "sluice"
import { type Command, optionOf, UsageError, wantsJson } from "./command.js"
import { count, duration, json, type Paint, painter, printable, table } from "./format.js"
import { clientOf, costOption, limiterAndKey, policiesOf, serverOptions } from "./server-options.js"

export const checkCommand: Command = {
  summary: "make one decision: may this key go on?",
  usage: "sluice check <limiter> <key> [--cost 1] [--timeout 5s] [--peek]",
  options: {
    "cost=": "units to spend, 1 by default; with several policies such as requests=1,bytes=500",
    "timeout=": "how long to wait for a turn, such as 5s; 0 by default",
    peek: "decide, and spend nothing",
    ...serverOptions,
  },
  examples: [
    "sluice check api alice",
    "sluice check api alice --cost 10 --timeout 5s",
    "if sluice check api deploy --json > decision.json; then ./deploy.sh; fi",
  ],
  async run(args, terminal) {
    const [limiter, key] = limiterAndKey(args, "check")
    const [cost, timeout, isPeek] = [
      costOption(args),
      timeoutOf(optionOf(args, "timeout")),
      args.options.has("peek"),
    ]
    if (isPeek && timeout !== undefined) throw new UsageError("--peek does not wait; leave --timeout out")
    const remote = clientOf(args, terminal).limiter(limiter)
    const { signal } = terminal
    const decision = isPeek
      ? await remote.peek(key, { cost, signal })
      : await remote.tryAcquire(key, { cost, signal, ...(timeout !== undefined && { timeout }) })
    if (wantsJson(args)) terminal.out(json(decision))
    else terminal.out(words(decision, isPeek, painter(terminal)))
    return decision.allowed ? 0 : 1
  },
}

function timeoutOf(text: string | undefined): `${number}s` | number | undefined {
  if (text === undefined || /^0(ms|s|m|h|d)?$/.test(text)) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  if (/^\d{1,15} ?(ms|s|m|h|d)$/.test(text)) return text as `${number}s`
  throw new UsageError(`--timeout must be a duration such as 250ms, 5s or 1m, got ${printable(text)}`)
}

function words(decision: Decision, isPeek: boolean, paint: Paint): string {
  const { allowed, policy, limit, remaining, retryAfter, source, degraded, observed } = decision
  const verdict = `${isPeek ? "would be " : ""}${allowed ? "allowed" : "denied"}`
  const wait =
    retryAfter === Number.POSITIVE_INFINITY ? "it can never pass" : `retry in ${duration(retryAfter)}`
  const why = allowed ? "" : `, ${wait}`
  const lines = [
    `${paint(allowed ? "green" : "red", verdict)}: ${count(remaining)} of ${count(limit)} left (policy ${printable(policy)})${why}`,
  ]
  if (observed === "denied") lines.push("The limiter only observes. Enforced, it would have denied this.")
  if (degraded)
    lines.push(paint("yellow", "The store did not answer. The outage policy of the limiter decided."))
  else if (source === "rule") lines.push("A rule decided; `sluice inspect` shows it.")
  if (decision.policies !== undefined) {
    const rows = policiesOf(decision).map((each) => [
      `  ${printable(each.policy)}`,
      each.allowed ? "allows" : "denies",
      `${count(each.remaining)} of ${count(each.limit)} left`,
      each.resetAfter > 0 ? `full in ${duration(each.resetAfter)}` : "full",
    ])
    lines.push(...table(rows))
  }
  return `${lines.join("\n")}\n`
}
