import type { Policy } from "sluice"
import { startWorkers, type Workers } from "./workers.js"

/** Workers of one process that take turns under one limiter. */
export interface Shift {
  readonly name: string
  readonly policy: Policy
  readonly workers: number
  /** How many turns each takes, one after the other. */
  readonly turns: number
  /** Milliseconds between the turns of a worker. */
  readonly pause: number
  /** What share of the turns is given up after a while. */
  readonly aborts: number
  readonly seed: number
}

/** Microseconds of the server: when a turn was asked for, and when it is. */
export interface Booking {
  readonly at: number
  readonly turn: number
}

export interface TurnReport {
  readonly bookings: readonly Booking[]
  /** In the order of waking: the how-manieth to ask, and when it woke, in microseconds. */
  readonly had: readonly { readonly order: number; readonly wokeAt: number }[]
  /** When the turns are that were given back. */
  readonly left: readonly number[]
  /** How many waits were given up. */
  readonly aborted: number
  readonly calls: number
}

/** Starts processes that do several shifts at once. */
export function startTurnWorkers(
  port: number,
  count: number,
): Promise<Workers<readonly Shift[], readonly TurnReport[]>> {
  return startWorkers("turn-worker.ts", [String(port)], count)
}
