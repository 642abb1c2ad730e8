/** Many waiters in one process. Half of them are aborted by a signal, then the limiter closes. */
export interface Crowd {
  readonly on: "memory" | "redis"
  readonly waiters: number
  /** How many keys they wait for. */
  readonly keys: number
  /** How many signals the aborted waiters share. */
  readonly signals: number
}

export interface CrowdReport {
  /** Bytes after a garbage collection. */
  readonly grown: number
  /** How many timers were set for all of them. */
  readonly timers: number
  /** The number of waits by outcome. */
  readonly ends: Readonly<Record<string, number>>
  readonly warnings: readonly string[]
}
