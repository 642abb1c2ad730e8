import { readFileSync } from "node:fs"
import { SluiceError } from "sluice"
import { distance } from "../config/distance.js"
import { ConfigError } from "../config/problems.js"
import { type Command, type ExitCode, parseArguments, type Terminal, UsageError } from "./command.js"
import { printable } from "./format.js"
import { commandHelp, overview } from "./help.js"

/** Each command is loaded when it is called, so that `sluice check` does not wait for the server's modules. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.js")).serveCommand,
  check: async () => (await import("./check.js")).checkCommand,
  inspect: async () => (await import("./inspect.js")).inspectCommand,
  reset: async () => (await import("./reset.js")).resetCommand,
  rules: async () => (await import("./rules.js")).rulesCommand,
  top: async () => (await import("./top.js")).topCommand,
  validate: async () => (await import("./validate.js")).validateCommand,
  simulate: async () => (await import("./simulate.js")).simulateCommand,
  doctor: async () => (await import("./doctor.js")).doctorCommand,
  library: async () => (await import("./library.js")).libraryCommand,
}

export const commandNames: readonly string[] = Object.keys(commands)

/** Runs `sluice <argv>`. It never throws: errors go to standard error and become an exit code. */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [first = "help", ...rest] = argv
  if (first === "--version") {
    terminal.out(`${version()}\n`)
    return 0
  }
  const isHelp = ["help", "--help", "-h"].includes(first)
  if (isHelp && rest[0] === undefined) {
    terminal.out(overview(await allCommands()))
    return argv.length === 0 ? 2 : 0
  }
  const name = isHelp ? (rest[0] as string) : first
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (load === undefined) {
    terminal.err(`sluice: unknown command ${printable(name)}${suggestion(name)}\n`)
    return 2
  }
  try {
    const command = await load()
    if (isHelp || asksForHelp(rest)) {
      terminal.out(commandHelp(command))
      return 0
    }
    return await command.run(parseArguments(rest, command), terminal)
  } catch (error) {
    return report(name, error, terminal)
  }
}

/** Help wins over mistakes in other options. What follows `--` is no option. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--")
  return args.slice(0, end < 0 ? undefined : end).some((each) => each === "--help" || each === "-h")
}

async function allCommands(): Promise<[string, Command][]> {
  return Promise.all(Object.entries(commands).map(async ([name, load]) => [name, await load()]))
}

function suggestion(name: string): string {
  const near = commandNames.find((each) => distance(each, name.toLowerCase()) <= 2)
  return near === undefined ? "; `sluice help` lists the commands" : `; did you mean ${near}?`
}

function report(name: string, error: unknown, terminal: Terminal): ExitCode {
  if (error instanceof ConfigError) {
    terminal.err(`${error.message}\n`)
    return 1
  }
  if (terminal.signal.aborted) {
    terminal.err(`sluice ${name}: interrupted\n`)
    return 3
  }
  const message = error instanceof Error ? error.message : String(error)
  terminal.err(`sluice ${name}: ${printable(message, 2_000)}\n`)
  if (error instanceof UsageError) {
    terminal.err(`\`sluice ${name} --help\` shows how it is called.\n`)
    return 2
  }
  if (message.startsWith("the server cannot be reached")) {
    terminal.err("Is `sluice serve` running? --server or SLUICE_SERVER has the URL of a server elsewhere.\n")
  }
  return error instanceof SluiceError ? exitCodes[error.code] : 1
}

const exitCodes: Readonly<Record<SluiceError["code"], ExitCode>> = {
  INVALID_POLICY: 2,
  INVALID_OPTION: 2,
  INVALID_KEY: 2,
  INVALID_COST: 2,
  NAME_TAKEN: 2,
  NOT_INITIALIZED: 2,
  CLOSED: 3,
  QUEUE_FULL: 1,
  WAIT_TOO_LONG: 1,
  BLOCKED: 1,
  STORE_REFUSED: 3,
  STORE_UNKNOWN: 3,
}

function version(): string {
  const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  return (JSON.parse(file) as { version: string }).version
}
