import type { Policy } from "sluice"
import { startWorkers, type Workers } from "./workers.js"

/** Workers of one process that take turns under one limiter. */
export interface Shift {
  readonly name: string
  readonly policy: Policy
  readonly workers: number
  /** How many turns each worker takes, one after the other. */
  readonly turns: number
  /** Milliseconds between the turns of a worker. */
  readonly pause: number
  /** The share of turns that are aborted after a while. */
  readonly aborts: number
  readonly seed: number
}

/** The time of a booking, and of its turn, in microseconds of the server. */
export interface Booking {
  readonly at: number
  readonly turn: number
}

export interface TurnReport {
  readonly bookings: readonly Booking[]
  /** In the order of wake-ups: the number of the request, and the time of its wake-up in microseconds. */
  readonly had: readonly { readonly order: number; readonly wokeAt: number }[]
  /** The times of turns that were given back. */
  readonly left: readonly number[]
  /** How many waits were aborted. */
  readonly aborted: number
  readonly calls: number
}

/** Starts processes that run several shifts concurrently. */
export function startTurnWorkers(
  port: number,
  count: number,
): Promise<Workers<readonly Shift[], readonly TurnReport[]>> {
  return startWorkers("turn-worker.ts", [String(port)], count)
}
