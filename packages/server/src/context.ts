import type { Logger } from "pino"
import type { Registry } from "prom-client"
import type { TopKeys } from "sluice/telemetry"
import type { Engine } from "./engine.js"

/** What the listeners of a server share. */
export interface ServerContext {
  readonly engine: Engine
  readonly log: Logger
  /** Logs an error of the store, with details that callers do not get. Other errors are ignored. */
  readonly logStoreError: (error: unknown) => void
  /** All metrics of this process. */
  readonly metrics: Registry
  /** What `/metrics` answers: the metrics of this process, or of all workers. */
  readonly metricsText: () => Promise<string>
  /** The busiest and the most denied keys. */
  readonly topKeys: TopKeys
  /** Aborted when a shutdown begins: health checks fail, so that clients go elsewhere. All else works as before. */
  readonly stopping: AbortSignal
  /** Aborted when the listeners begin to close: long polls should end. */
  readonly draining: AbortSignal
}

/** A listener that was started. */
export interface Listener {
  /** The address that it listens on. The port is the real one if the configuration said 0. */
  readonly address: { readonly host: string; readonly port: number }
  /** Takes no new connections, waits for the present requests, and then ends the rest. */
  drain(times: DrainTimes): Promise<void>
}

/** Both in milliseconds from now. */
export interface DrainTimes {
  /** When everything that is left is ended. */
  readonly deadline: number
  /** When connections without a request are closed. Until then, a client may use them once more. */
  readonly idle: number
}
