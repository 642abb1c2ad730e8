import type { Duration, Policies } from "sluice"
import type { Client } from "sluice/client"
import type { RuleNotes, RuleTarget } from "sluice/rules"
import {
  type Arguments,
  type Command,
  integerOption,
  optionOf,
  type Terminal,
  UsageError,
  wantsJson,
} from "./command.js"
import { json, printable, table } from "./format.js"
import { readPolicyOption } from "./read-policy-option.js"
import { moment, ruleWords, targetWords } from "./rule-words.js"
import { checkLimiter, clientOf, serverOptions } from "./server-options.js"

const actions = ["list", "set", "block", "allow", "remove", "history"] as const
type Action = (typeof actions)[number]

/** Which options each action takes, besides those of every command. */
const optionsOf: Readonly<Record<Action, readonly string[]>> = {
  list: [],
  set: ["policy", "pattern", "until", "reason", "by"],
  block: ["pattern", "until", "reason", "by"],
  allow: ["pattern", "until", "reason", "by"],
  remove: ["pattern", "reason", "by"],
  history: ["count"],
}

export const rulesCommand: Command = {
  summary: "exceptions for single keys and prefixes: set, block, allow, list, remove, history",
  usage: [
    "sluice rules list [<limiter>]",
    "sluice rules set <limiter> <key> --policy <policy>",
    "sluice rules block|allow|remove <limiter> <key>",
    "sluice rules history [<limiter>]",
    "With --pattern <prefix*>, the rule is for all keys that begin alike, and <key> is left out.",
  ].join("\n"),
  options: {
    "policy=": "set: the policy in place of the limiter's, as JSON or YAML",
    "pattern=": "a prefix and a star, such as acme:*, in place of a key",
    "until=": "when the rule ends: a duration such as 1h, or a time such as 2027-01-31T12:00:00Z",
    "reason=": "why, for the history",
    "by=": "who did it, for the history",
    "count=": "history: how many changes, 20 by default",
    ...serverOptions,
  },
  examples: [
    "sluice rules block login mallory@example.com --until 1h --reason 'password guessing'",
    `sluice rules set api --pattern 'acme:*' --policy '{"algorithm":"tokenBucket","capacity":500,"refill":50,"every":"1s"}'`,
    "sluice rules list",
  ],
  async run(args, terminal) {
    const [given = "", limiter, ...more] = args.words
    const action = actions.find((each) => each === given)
    if (action === undefined) {
      throw new UsageError(
        `rules needs one of ${actions.join(", ")}${given === "" ? "" : `, got ${printable(given)}`}`,
      )
    }
    for (const option of args.options.keys()) {
      const isOther = Object.values(optionsOf).flat().includes(option) && !optionsOf[action].includes(option)
      if (isOther) throw new UsageError(`rules ${action} takes no --${option}`)
    }
    if (action === "list" || action === "history") {
      if (more.length > 0) throw new UsageError(`rules ${action} takes at most the name of a limiter`)
      const client = clientOf(args, terminal)
      return action === "list"
        ? list(client, limiter, args, terminal)
        : history(client, limiter, args, terminal)
    }
    return change(action, targetOf(action, limiter, more, args), args, terminal)
  },
}

function targetOf(
  action: Action,
  limiter: string | undefined,
  more: readonly string[],
  args: Arguments,
): RuleTarget {
  const pattern = optionOf(args, "pattern")
  const [key, extra] = more
  if (!limiter) throw new UsageError(`rules ${action} needs a limiter`)
  if ((key === undefined) === (pattern === undefined))
    throw new UsageError(`rules ${action} needs either a key or --pattern`)
  if (extra !== undefined) throw new UsageError(`rules ${action} takes one key, got also ${printable(extra)}`)
  return { limiter, ...(key === undefined ? { pattern } : { key }) }
}

async function change(
  action: Exclude<Action, "list" | "history">,
  target: RuleTarget,
  args: Arguments,
  terminal: Terminal,
): Promise<0 | 1> {
  const [until, reason, by] = [
    untilOf(optionOf(args, "until")),
    optionOf(args, "reason"),
    optionOf(args, "by"),
  ]
  const policy = action === "set" ? policyOf(args) : undefined
  const rule = {
    ...target,
    ...(until !== undefined && { until }),
    ...(reason && { reason }),
    ...(by && { by }),
  }
  const { rules } = clientOf(args, terminal)
  let isDone = true
  if (policy !== undefined) await rules.set({ ...rule, policy })
  else if (action === "block") await rules.block(rule)
  else if (action === "allow") await rules.allow(rule)
  else isDone = await rules.remove(rule)
  const said = isDone ? results[action] : "has no rule"
  if (wantsJson(args)) terminal.out(json({ ...rule, action, done: isDone }))
  else terminal.out(`${targetWords(target)} of ${printable(target.limiter)} ${said}.\n`)
  return isDone ? 0 : 1
}

const results = {
  set: "has a limit of its own now",
  block: "is blocked",
  allow: "is allowed everything",
  remove: "has no rule any more",
} as const

function policyOf(args: Arguments): Policies {
  const text = optionOf(args, "policy")
  if (text === undefined) throw new UsageError("rules set needs --policy")
  return readPolicyOption(text)
}

function untilOf(text: string | undefined): RuleNotes["until"] {
  if (text === undefined) return undefined
  if (/^\d{1,15} ?(ms|s|m|h|d)$/.test(text)) return text as Duration
  const date = new Date(text)
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new UsageError(
    `--until must be a duration such as 1h, or a time such as 2027-01-31T12:00:00Z, got ${printable(text)}`,
  )
}

async function list(
  client: Client,
  limiter: string | undefined,
  args: Arguments,
  terminal: Terminal,
): Promise<0> {
  const rules = await client.rules.list({ limiter })
  // A limiter that the configuration no longer has may still have rules.
  if (rules.length === 0 && limiter !== undefined) await checkLimiter(client, limiter)
  if (wantsJson(args)) terminal.out(json(rules))
  else if (rules.length === 0) terminal.out("There are no rules.\n")
  else {
    const rows = rules.map((rule) => [printable(rule.limiter), targetWords(rule), ruleWords(rule)])
    terminal.out(`${table([["limiter", "key", "rule"], ...rows]).join("\n")}\n`)
  }
  return 0
}

async function history(
  client: Client,
  limiter: string | undefined,
  args: Arguments,
  terminal: Terminal,
): Promise<0> {
  const changes = await client.rules.history({ limiter, count: integerOption(args, "count", 20) })
  if (changes.length === 0 && limiter !== undefined) await checkLimiter(client, limiter)
  if (wantsJson(args)) terminal.out(json(changes))
  else if (changes.length === 0) terminal.out("There were no changes.\n")
  else {
    const rows = changes.map((each) => [
      moment(each.at),
      printable(each.limiter),
      targetWords(each),
      ruleWords(each),
    ])
    terminal.out(`${table([["time (UTC)", "limiter", "key", "change"], ...rows]).join("\n")}\n`)
  }
  return 0
}
