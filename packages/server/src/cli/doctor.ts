import { examine } from "../doctor/examine.js"
import type { Finding } from "../doctor/finding.js"
import { type Command, optionOf, type Terminal, UsageError, wantsJson } from "./command.js"
import { json, painter, printable } from "./format.js"

export const doctorCommand: Command = {
  summary: "examine a Redis or Valkey, and say what to change",
  usage: "sluice doctor [--redis <url>]",
  options: {
    "redis=": "the URL of the server. Default: REDIS_URL, or redis://127.0.0.1:6379",
    "prefix=": "the prefix of the keys, sluice by default",
  },
  examples: ["sluice doctor", "sluice doctor --redis redis://app:secret@redis.internal:6379 --json"],
  async run(args, terminal) {
    if (args.words.length > 0)
      throw new UsageError(`doctor takes no arguments, got ${printable(args.words[0] as string)}`)
    const url = optionOf(args, "redis") ?? terminal.env["REDIS_URL"] ?? "redis://127.0.0.1:6379"
    if (!/^rediss?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
      throw new UsageError("--redis must be a URL such as redis://localhost:6379")
    }
    const prefix = optionOf(args, "prefix") ?? "sluice"
    if (!/^[^{}]+$/.test(prefix)) throw new UsageError("--prefix must be a text without braces")
    const { isReachable, findings } = await examine(url, prefix)
    const { host } = new URL(url)
    const sum = (level: Finding["level"]) => findings.filter((each) => each.level === level).length
    const sums = { problems: sum("problem"), warnings: sum("warning") }
    if (wantsJson(args)) terminal.out(json({ server: host, reachable: isReachable, ...sums, findings }))
    else terminal.out(words(host, findings, sums, terminal))
    if (!isReachable) return 3
    return sums.problems > 0 ? 1 : 0
  },
}

const colours = { ok: "green", warning: "yellow", problem: "red", skipped: "dim" } as const

function words(
  host: string,
  findings: readonly Finding[],
  { problems, warnings }: { problems: number; warnings: number },
  terminal: Terminal,
): string {
  const paint = painter(terminal)
  const lines = findings.flatMap(({ check, level, message, fix }) => {
    const line = `${paint(colours[level], level.padEnd(7))}  ${check.padEnd(11)}  ${printable(message, 1_000)}`
    return fix === undefined ? [line] : [line, `${" ".repeat(22)}→ ${printable(fix, 1_000)}`]
  })
  const plural = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`
  const sum = `${plural(problems, "problem")}, ${plural(warnings, "warning")}`
  return `${paint("bold", host)}\n\n${lines.join("\n")}\n\n${sum}\n`
}
