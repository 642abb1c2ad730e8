/** Many who wait in one process: those by a signal give up, half of all; then the limiter closes. */
export interface Crowd {
  readonly on: "memory" | "redis"
  readonly waiters: number
  /** How many keys they wait for. */
  readonly keys: number
  /** How many signals there are among those who give up. */
  readonly signals: number
}

export interface CrowdReport {
  /** Bytes, after garbage was collected. */
  readonly grown: number
  /** How many timers were set for all of them. */
  readonly timers: number
  /** How many waits ended how. */
  readonly ends: Readonly<Record<string, number>>
  readonly warnings: readonly string[]
}
