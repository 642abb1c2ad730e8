import { distance } from "../config/distance.js"

/** A subcommand of `sluice`. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  /** How it is called, such as `sluice check <limiter> <key> [--cost 1]`. */
  readonly usage: string
  /** Its options. A name ends with `=` if it takes a value: `{ "cost=": "units to spend, 1 by default" }`. */
  readonly options: Readonly<Record<string, string>>
  /** Lines of examples for its help. */
  readonly examples: readonly string[]
  run(args: Arguments, terminal: Terminal): Promise<ExitCode>
}

/** What was given on the command line. */
export interface Arguments {
  readonly words: readonly string[]
  /** Values of options by name, in the order given. A switch has the value "". */
  readonly options: ReadonlyMap<string, readonly string[]>
}

/** Where a command writes. Tests pass one of their own. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Whether a person watches: standard output is a terminal, without --json. Colours also need NO_COLOR to be unset. */
  readonly isInteractive: boolean
  /** Standard input. Default: that of the process. */
  readonly input?: AsyncIterable<Uint8Array>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal
}

/** 0: done, or allowed. 1: denied, or something is wrong with what was examined. 2: a mistake in the call. 3: no answer from the server. */
export type ExitCode = 0 | 1 | 2 | 3

/** A mistake in how a command was called. It ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}

/** Options that every command takes. */
export const commonOptions: Readonly<Record<string, string>> = {
  json: "print JSON",
  help: "show this help",
}

/** Sorts words and options. Throws a {@link UsageError} for an option that the command does not have. */
export function parseArguments(argv: readonly string[], command: Pick<Command, "options">): Arguments {
  const known = { ...command.options, ...commonOptions }
  const words: string[] = []
  const options = new Map<string, string[]>()
  for (let i = 0; i < argv.length; i += 1) {
    const text = argv[i] as string
    if (text === "--") {
      words.push(...argv.slice(i + 1))
      break
    }
    if (!/^--?[a-z]/.test(text)) {
      words.push(text)
      continue
    }
    const [, short, given, inline] = /^(-h$)?(?:--([a-z-]+)(?:=(.*))?)?$/s.exec(text) ?? []
    const name = short === undefined ? given : "help"
    const takesValue = name !== undefined && Object.hasOwn(known, `${name}=`)
    if (name === undefined || !(takesValue || Object.hasOwn(known, name))) {
      const names = Object.keys(known).map((each) => `--${each.replace("=", "")}`)
      const near = names.find((each) => distance(each, text.replace(/=.*/s, "")) <= 2)
      const help = near === undefined ? `the options are ${names.join(", ")}` : `did you mean ${near}?`
      throw new UsageError(`unknown option ${text}; ${help}`)
    }
    if (!takesValue && inline !== undefined) throw new UsageError(`--${name} takes no value`)
    const value = takesValue ? (inline ?? argv[++i]) : ""
    if (value === undefined) throw new UsageError(`--${name} needs a value`)
    options.set(name, [...(options.get(name) ?? []), value])
  }
  return { words, options }
}

/** The last value of an option. */
export function optionOf({ options }: Arguments, name: string): string | undefined {
  return options.get(name)?.at(-1)
}

/** A whole number from an option. */
export function integerOption(args: Arguments, name: string, otherwise: number, least = 1): number {
  const text = optionOf(args, name)
  if (text === undefined) return otherwise
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value
  throw new UsageError(`--${name} must be an integer, ${least} or more, got ${text}`)
}

export function wantsJson({ options }: Arguments): boolean {
  return options.has("json")
}
