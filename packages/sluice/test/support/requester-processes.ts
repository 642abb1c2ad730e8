import type { Load, Recorded } from "./bursts.js"
import { startWorkers } from "./workers.js"

/** The task of a process: requests to a limiter of this name, which never refills during a test. */
export interface Task {
  readonly name: string
  readonly limit: number
  readonly load: Load
}

/** The operations of a process with their replies, and the number of calls to Redis. */
export interface Work {
  readonly operations: readonly Recorded[]
  readonly calls: number
}

export interface Requesters {
  /** Gives all processes their tasks at the same time. */
  work(tasks: readonly Task[]): Promise<Work[]>
  stop(): Promise<void>
}

/** Starts processes that run the source of the library against the Redis on this port. */
export async function startRequesters(port: number, count: number): Promise<Requesters> {
  const { work, kill } = await startWorkers<Task, Work>("requester.ts", [String(port)], count)
  return { work, stop: kill }
}
