import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** How much one process asks of each limiter. */
export interface Load {
  /** Asks a second, while it asks. */
  readonly rate: number
  /** Milliseconds in which it asks, and in which it then does not. */
  readonly on: number
  readonly off: number
}

/** A time for all processes: `hrtime` is the same clock for all of a machine. */
export interface Shift {
  readonly load: Load
  /** Milliseconds of `hrtime`. */
  readonly start: number
  readonly lasts: number
}

/** What one process was admitted by one limiter. */
export interface Admitted {
  /** How many of the asks that were made in one millisecond of the shift and answered in another. */
  readonly asks: readonly (readonly [askedAt: number, toldAt: number, count: number])[]
  /** How many from leases. */
  readonly leased: number
}

export interface Report {
  readonly bucket: Admitted
  readonly window: Admitted
}

export interface LeaseWorkers {
  work(shifts: readonly Shift[]): Promise<Report[]>
  /** Has the first process ask this many times in a row and stop for good where it then is; how many passed. */
  freeze(asks: number): Promise<number>
  /** Ends the processes where they are. */
  kill(): Promise<void>
}

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const program = fileURLToPath(new URL("lease-worker.ts", import.meta.url))

/** Milliseconds of the clock that all processes of a machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Starts processes whose limiters lease from the Redis on this port. */
export async function startLeaseWorkers(port: number, count: number): Promise<LeaseWorkers> {
  const children = Array.from({ length: count }, () =>
    fork(program, [String(port)], { cwd: root, execArgv: ["--import", "tsx"] }),
  )
  const kill = async () => {
    const gone = children.map((child) => new Promise((resolve) => child.once("exit", resolve)))
    const alive = children.filter((child) => child.exitCode === null && child.signalCode === null)
    for (const child of alive) child.kill("SIGKILL")
    if (alive.length > 0) await Promise.all(gone)
  }
  try {
    await Promise.all(children.map(heardFrom))
  } catch (error) {
    await kill()
    throw error
  }
  return {
    async work(shifts) {
      const reports = children.map((child) => heardFrom(child) as Promise<Report>)
      for (const [i, shift] of shifts.entries()) children[i]?.send(shift)
      return Promise.all(reports)
    },
    async freeze(asks) {
      const [child] = children as [ChildProcess]
      const admitted = heardFrom(child) as Promise<number>
      child.send(asks)
      return admitted
    },
    kill,
  }
}

function heardFrom(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve)
    child.once("exit", (code, signal) => reject(new Error(`a worker ended with ${code ?? signal}`)))
  })
}
