import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** Worker processes that reply to a task with a report. */
export interface Workers<Task, Report> {
  readonly children: readonly ChildProcess[]
  /** Gives all processes their tasks at the same time. */
  work(tasks: readonly Task[]): Promise<Report[]>
  /** Kills the processes. */
  kill(): Promise<void>
}

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Starts processes that run the source of the library. Each prints "ready". */
export async function startWorkers<Task, Report>(
  program: string,
  args: readonly string[],
  count: number,
): Promise<Workers<Task, Report>> {
  const path = fileURLToPath(new URL(program, import.meta.url))
  const children = Array.from({ length: count }, () =>
    fork(path, args, { cwd: root, execArgv: ["--expose-gc", "--import", "tsx"] }),
  )
  const kill = async () => {
    const alive = children.filter((child) => child.exitCode === null && child.signalCode === null)
    const gone = alive.map((child) => new Promise((resolve) => child.once("exit", resolve)))
    for (const child of alive) child.kill("SIGKILL")
    await Promise.all(gone)
  }
  try {
    await Promise.all(children.map(heardFrom))
  } catch (error) {
    await kill()
    throw error
  }
  return {
    children,
    async work(tasks) {
      const reports = children.slice(0, tasks.length).map((child) => heardFrom(child) as Promise<Report>)
      for (const [i, task] of tasks.entries()) children[i]?.send(task as object)
      return Promise.all(reports)
    },
    kill,
  }
}

/** The next line that a process prints. */
export function heardFrom(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null) =>
      reject(new Error(`a worker ended with ${code ?? signal}`))
    child.once("exit", onExit)
    child.once("message", (message) => {
      child.off("exit", onExit)
      resolve(message)
    })
  })
}
