import type { ChildProcess } from "node:child_process"
import { heardFrom, startWorkers } from "./workers.js"

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

/** Milliseconds of the clock that all processes of a machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Starts processes whose limiters lease from the Redis on this port. */
export async function startLeaseWorkers(port: number, count: number): Promise<LeaseWorkers> {
  const { children, work, kill } = await startWorkers<Shift, Report>("lease-worker.ts", [String(port)], count)
  return {
    work,
    async freeze(asks) {
      const [child] = children as [ChildProcess]
      const admitted = heardFrom(child) as Promise<number>
      child.send(asks)
      return admitted
    },
    kill,
  }
}
