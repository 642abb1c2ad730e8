import type { Load, Recorded } from "./bursts.js"
import { startWorkers } from "./workers.js"

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
  stop(): Promise<void>
}

/** Starts processes that run the source of the library against the Redis on this port. */
export async function startAskers(port: number, count: number): Promise<Askers> {
  const { work, kill } = await startWorkers<Task, Work>("asker.ts", [String(port)], count)
  return { work, stop: kill }
}
