import { onTestFinished } from "vitest"
import { until } from "../../../sluice/test/support/server-process.js"
import { type Program, type ProgramOptions, startProgram } from "./program.js"

/** Milliseconds. Several processes that start at once need some seconds, and longer while other tests run. */
const PATIENCE = 60_000

/** A line of the service's log. */
export interface LogLine {
  readonly level: number
  readonly msg: string
  readonly [field: string]: unknown
}

/** The real command in a process of its own. */
export interface Service extends Program {
  /** Where it listens for HTTP: `http://127.0.0.1:<port>`. */
  readonly url: string
  readonly port: number
  /** The lines of its log so far. */
  readonly log: readonly LogLine[]
  /** Waits until the log has `count` lines with this message, and returns the last of them. */
  logged(message: string, count?: number): Promise<LogLine>
  /** Ends it with SIGTERM, and returns its exit code. */
  stop(): Promise<number | NodeJS.Signals>
}

/** Runs `sluice` from the sources. */
export function sluice(args: readonly string[], options: ProgramOptions = {}): Program {
  const { env = {} } = options
  const program = startProgram(
    process.execPath,
    ["--import", "tsx", "packages/server/src/main.ts", ...args],
    // A token in the environment of the tests would change what admin calls need.
    { ...options, env: { SLUICE_ADMIN_TOKEN: "", ...env } },
  )
  onTestFinished(() => program.kill())
  return program
}

/** Starts `sluice serve` with these arguments on a free port, or on `port`. Without `--grpc` there is no gRPC. */
export async function startService(
  args: readonly string[],
  { port = 0, ...options }: ProgramOptions & { readonly port?: number } = {},
): Promise<Service> {
  const has = (name: string) => args.some((arg) => arg.startsWith(`--${name}`))
  const http = has("http") ? [] : ["--http", `127.0.0.1:${port}`]
  const grpc = has("grpc") ? [] : ["--grpc", "off"]
  const program = sluice(["serve", ...http, ...grpc, ...args], options)
  const log = () => logOf(program.stdout)
  const logged = async (message: string, count = 1) => {
    const found = () => log().filter(({ msg }) => msg === message)
    await until(
      `the log says ${count} times: ${message}`,
      async () => found().length >= count,
      PATIENCE,
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${program.stdout}${program.stderr}`)
    })
    return found().at(-1) as LogLine
  }
  const failed = program.ended.then((code) => {
    throw new Error(`the service ended with ${code}\n${program.stdout}${program.stderr}`)
  })
  // Later it may end.
  failed.catch(() => {})
  const listening = await Promise.race([logged("HTTP listens"), failed])
  const service = {
    port: Number(listening["port"]),
    url: `http://127.0.0.1:${listening["port"]}`,
    logged,
    stop() {
      program.signal("SIGTERM")
      return program.ended
    },
  }
  const live = { log: { get: log } }
  return Object.defineProperties(Object.assign(Object.create(program), service), live) as Service
}

function logOf(text: string): LogLine[] {
  const complete = text.slice(0, text.lastIndexOf("\n") + 1).split("\n")
  return complete.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as LogLine)
}
