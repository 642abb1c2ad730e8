import type { Logger } from "pino"
import type { Registry } from "prom-client"
import type { TopKeys } from "sluice/telemetry"
import type { Engine } from "./engine.js"

/** What the listeners of a server share. */
export interface ServerContext {
  readonly engine: Engine
  readonly log: Logger
  /** All metrics of this process. */
  readonly metrics: Registry
  /** The busiest and the most denied keys. */
  readonly topKeys: TopKeys
  /** Aborted when the server begins to drain: it takes no new work, and long polls should end. */
  readonly draining: AbortSignal
}

/** A listener that was started. */
export interface Listener {
  /** The address that it listens on. The port is the real one if the configuration said 0. */
  readonly address: { readonly host: string; readonly port: number }
  /** Takes no new requests, waits for the present ones until `deadline` (ms), then ends the rest. */
  drain(deadline: number): Promise<void>
}
