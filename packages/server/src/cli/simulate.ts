import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import type { Policies } from "sluice"
import { loadSources } from "../config/load.js"
import { readConfig } from "../config/read-config.js"
import { limiterConfigs, namedPolicies } from "../engine.js"
import { type LogFormat, logFormats } from "../simulate/log-formats.js"
import { readLines } from "../simulate/read-lines.js"
import { reportText } from "../simulate/report-text.js"
import { type SimulationOptions, simulate } from "../simulate/simulate.js"
import {
  type Arguments,
  type Command,
  integerOption,
  optionOf,
  type Terminal,
  UsageError,
  wantsJson,
} from "./command.js"
import { json, painter, printable } from "./format.js"
import { withProgress } from "./progress.js"
import { readPolicyOption } from "./read-policy-option.js"

export const simulateCommand: Command = {
  summary: "run a policy against an access log, and report what it would have denied",
  usage:
    "sluice simulate --policy <policy> [options] <log or ->\nsluice simulate --config <file> --limiter <name> [options] <log or ->",
  options: {
    "policy=": "the policy as JSON or YAML",
    "config=": "a configuration file that has the limiter; may be repeated",
    "limiter=": "the limiter of the configuration whose policy is used",
    "by=": "what the key is: address (default), header:<name>, or a field of the log",
    "cost-field=": "the field with the cost of a request; with several policies <policy>=<field>, repeated",
    "format=": "common (also combined), json or csv; by default found from the first line",
    "time-field=": "the field of JSON or CSV with the time; by default one of the usual names",
    "count=": "how many keys to list, 10 by default",
  },
  examples: [
    `sluice simulate --policy '{"algorithm":"fixedWindow","limit":100,"window":"1m"}' access.log`,
    "sluice simulate --config sluice.yaml --limiter api --by header:x-api-key requests.jsonl",
    "zcat access.log.*.gz | sluice simulate --config sluice.yaml --limiter api -",
  ],
  async run(args, terminal) {
    const [path, another] = args.words
    if (path === undefined) throw new UsageError("simulate needs a log file, or - for standard input")
    if (another !== undefined)
      throw new UsageError("simulate takes one log; join several: cat *.log | sluice simulate … -")
    const options = optionsOf(args, terminal)
    const { input, size } = await open(path, terminal)
    const lines = readLines(unpacked(input, path))
    const report = await simulate(withProgress(lines, size, terminal), options)
    const interrupted = terminal.signal.aborted
    if (wantsJson(args)) terminal.out(json({ ...report, interrupted }))
    else terminal.out(reportText(report, painter(terminal)))
    if (interrupted) terminal.err("sluice simulate: interrupted; this is the part that was read\n")
    if (report.requests > 0) return interrupted ? 1 : 0
    terminal.err(`sluice simulate: no line of ${printable(path)} is a request with a key\n`)
    return 1
  },
}

function optionsOf(args: Arguments, terminal: Terminal): SimulationOptions {
  const policy = policyOf(args, terminal)
  const format = optionOf(args, "format")
  if (format !== undefined && !logFormats.includes(format as LogFormat)) {
    throw new UsageError(`--format must be one of ${logFormats.join(", ")}, got ${printable(format)}`)
  }
  return {
    policy,
    by: optionOf(args, "by"),
    cost: costOf(args, policy),
    format: format as LogFormat | undefined,
    timeField: optionOf(args, "time-field"),
    top: integerOption(args, "count", 10),
  }
}

function policyOf(args: Arguments, terminal: Terminal): Policies {
  const [text, name] = [optionOf(args, "policy"), optionOf(args, "limiter")]
  const files = args.options.get("config")
  if (text !== undefined) {
    if (name !== undefined || files !== undefined)
      throw new UsageError("--policy takes the place of --config and --limiter")
    return readPolicyOption(text)
  }
  if (name === undefined || files === undefined)
    throw new UsageError("simulate needs --policy, or --config and --limiter")
  const limiters = limiterConfigs(readConfig(loadSources(files), terminal.env))
  const found = limiters.get(name)
  if (found !== undefined) return found.policy
  throw new UsageError(
    `there is no limiter ${printable(name)}; there are ${[...limiters.keys()].map((each) => printable(each)).join(", ")}`,
  )
}

function costOf(args: Arguments, policy: Policies): SimulationOptions["cost"] {
  const given = args.options.get("cost-field")
  if (given === undefined) return undefined
  if (typeof policy.algorithm === "string") return given.at(-1)
  const names = [...namedPolicies(policy).keys()]
  return Object.fromEntries(
    given.map((each) => {
      const at = each.indexOf("=")
      const name = each.slice(0, Math.max(at, 0))
      if (names.includes(name)) return [name, each.slice(at + 1)]
      throw new UsageError(
        `--cost-field must be <policy>=<field>, with a policy of ${names.join(", ")}, got ${printable(each)}`,
      )
    }),
  )
}

async function open(
  path: string,
  terminal: Terminal,
): Promise<{ input: AsyncIterable<Uint8Array>; size: number | undefined }> {
  if (path === "-") return { input: terminal.input ?? process.stdin, size: undefined }
  try {
    const found = await stat(path)
    if (found.isDirectory()) {
      const [name, how] = [printable(path), `cat ${printable(path)}/* | sluice simulate … -`]
      throw new UsageError(`${name} is a folder; join its logs: ${how}`)
    }
    const { size } = found
    const input = createReadStream(path, { highWaterMark: 256 * 1_024 })
    await new Promise((resolve, reject) => input.once("open", resolve).once("error", reject))
    return { input, size }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const { code = "" } = error as NodeJS.ErrnoException
    throw new UsageError(
      `${printable(path)} cannot be read: ${{ ENOENT: "there is no such file" }[code] ?? code}`,
    )
  }
}

/** Passes an input on, and refuses one in gzip, which begins with the bytes 1f 8b. */
async function* unpacked(input: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const chunk of input) {
    if (isFirst && chunk[0] === 0x1f && chunk[1] === 0x8b) {
      const [what, file] = path === "-" ? ["standard input", "…"] : [printable(path), printable(path)]
      throw new UsageError(`${what} is packed with gzip; unpack it: zcat ${file} | sluice simulate … -`)
    }
    isFirst = false
    yield chunk
  }
}
