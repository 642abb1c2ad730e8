import { type Command, commonOptions } from "./command.js"

/** The list of commands. */
export function overview(commands: readonly (readonly [string, Command])[]): string {
  const rows = commands.map(([name, { summary }]) => [name, summary] as const)
  return lines(
    "sluice: a rate limit server and its tools",
    "",
    "Usage: sluice <command> [options]",
    "",
    ...columns(rows),
    "",
    "`sluice <command> --help` explains a command and has examples. `sluice --version` prints the version.",
    "Exit codes: 0 done or allowed, 1 denied or a problem was found, 2 a mistake in the call, 3 no answer.",
  )
}

/** The help of one command: every option, and examples. */
export function commandHelp({ summary, usage, options, examples }: Command): string {
  const rows = Object.entries({ ...options, ...commonOptions }).map(
    ([name, text]) => [`--${name.replace("=", " <value>")}`, text] as const,
  )
  const [first = "", ...others] = usage.split("\n")
  return lines(
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}${summary.endsWith("?") ? "" : "."}`,
    "",
    `Usage: ${first}`,
    ...others.map((line) => `       ${line}`),
    "",
    "Options:",
    ...columns(rows),
    "",
    "Examples:",
    ...examples.map((each) => `  ${each}`),
  )
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
}

function lines(...all: readonly string[]): string {
  return `${all.join("\n")}\n`
}
