import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** A program that runs in a process of its own. */
export interface Program {
  readonly pid: number
  /** Standard output and standard error so far. */
  readonly stdout: string
  readonly stderr: string
  /** The exit code, or the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>
  readonly isRunning: boolean
  signal(signal: NodeJS.Signals): void
  /** Ends the process with SIGKILL and waits for its exit. */
  kill(): Promise<void>
}

const alive = new Set<ChildProcess>()
const killAll = () => {
  for (const child of alive) child.kill("SIGKILL")
}
process.on("exit", killAll)
// A test worker whose runner is gone.
process.on("disconnect", killAll)

export interface ProgramOptions {
  readonly env?: NodeJS.ProcessEnv
  /** In a process group of its own, as a shell on a terminal starts it. */
  readonly hasOwnGroup?: boolean
}

/** Starts a program in the folder of the repository. */
export function startProgram(
  command: string,
  args: readonly string[],
  { env = {}, hasOwnGroup = false }: ProgramOptions = {},
): Program {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    detached: hasOwnGroup,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const output = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text
    })
  }
  alive.add(child)
  child.on("error", (error) => {
    output.stderr += error.message
  })
  const ended = once(child, "close").then(([code, signal]) => {
    alive.delete(child)
    return (code ?? signal) as number | NodeJS.Signals
  })
  const isRunning = () => child.exitCode === null && child.signalCode === null
  return {
    pid: child.pid ?? 0,
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    ended,
    get isRunning() {
      return isRunning()
    },
    signal: (signal) => child.kill(signal),
    async kill() {
      if (isRunning()) child.kill("SIGKILL")
      await ended
    },
  }
}
