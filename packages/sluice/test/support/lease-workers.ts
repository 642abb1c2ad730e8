import type { ChildProcess } from "node:child_process"
import { heardFrom, startWorkers } from "./workers.js"

/** The load of one process on each limiter. */
export interface Load {
  /** Requests per second while it is active. */
  readonly rate: number
  /** Milliseconds of activity, and of the pause after it. */
  readonly on: number
  readonly off: number
}

/** A shift for all processes. `hrtime` is the same clock for all processes of a machine. */
export interface Shift {
  readonly load: Load
  /** Milliseconds of `hrtime`. */
  readonly start: number
  readonly lasts: number
}

/** The requests of one process that one limiter admitted. */
export interface Admitted {
  /** The number of requests by the millisecond of their start and of their reply. */
  readonly asks: readonly (readonly [askedAt: number, toldAt: number, count: number])[]
  /** How many were admitted from leases. */
  readonly leased: number
}

export interface Report {
  readonly bucket: Admitted
  readonly window: Admitted
}

export interface LeaseWorkers {
  work(shifts: readonly Shift[]): Promise<Report[]>
  /** Lets the first process send this many requests and then hang. Returns how many passed. */
  freeze(requests: number): Promise<number>
  /** Kills the processes. */
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
    async freeze(requests) {
      const [child] = children as [ChildProcess]
      const admitted = heardFrom(child) as Promise<number>
      child.send(requests)
      return admitted
    },
    kill,
  }
}
