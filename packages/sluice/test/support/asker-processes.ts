import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Load, Recorded } from "./bursts.js"

/** What a process does: asks a limiter of this name, that never refills during a test. */
export interface Task {
  readonly name: string
  readonly limit: number
  readonly load: Load
}

/** What it asked and heard, and in how many calls to Redis. */
export interface Work {
  readonly operations: readonly Recorded[]
  readonly calls: number
}

export interface Askers {
  /** Gives each process its task, all at the same time. */
  work(tasks: readonly Task[]): Promise<Work[]>
  stop(): void
}

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const program = fileURLToPath(new URL("asker.ts", import.meta.url))

/** Starts processes that run the source of the library against the Redis on this port. */
export async function startAskers(port: number, count: number): Promise<Askers> {
  const children = Array.from({ length: count }, () =>
    fork(program, [String(port)], { cwd: root, execArgv: ["--import", "tsx"] }),
  )
  const stop = () => {
    for (const child of children) child.kill("SIGKILL")
  }
  try {
    await Promise.all(children.map(heardFrom))
  } catch (error) {
    stop()
    throw error
  }
  return {
    async work(tasks) {
      const works = children.slice(0, tasks.length).map((child) => heardFrom(child) as Promise<Work>)
      for (const [i, task] of tasks.entries()) children[i]?.send(task)
      return Promise.all(works)
    },
    stop,
  }
}

function heardFrom(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve)
    child.once("exit", (code, signal) => reject(new Error(`an asker ended with ${code ?? signal}`)))
  })
}
