import { pino } from "pino"
import { Registry } from "prom-client"
import { prometheus, topKeys } from "sluice/telemetry"
import { until } from "../../../sluice/test/support/server-process.js"
import { readConfig } from "../../src/config/read-config.js"
import type { Listener, ServerContext } from "../../src/context.js"
import { createEngine, type Engine } from "../../src/engine.js"
import { listenHttp } from "../../src/http/http-server.js"
import { storeErrorLog } from "../../src/store-errors.js"

export const defaultConfig = `
limiters:
  api: { policy: { algorithm: fixedWindow, limit: 3, window: 1h } }
  queue: { policy: { algorithm: tokenBucket, capacity: 1, refill: 1, every: 200ms }, maxWait: 10s }
  slow: { policy: { algorithm: tokenBucket, capacity: 1, refill: 1, every: 5s } }
  plans:
    policy:
      requests: { algorithm: slidingLog, limit: 3, window: 1h }
      tokens: { algorithm: tokenBucket, capacity: 1000, refill: 1, every: 1h }
  watched: { policy: { algorithm: fixedWindow, limit: 1, window: 1h }, mode: observe }
  "odd name/{x}": { policy: { algorithm: fixedWindow, limit: 3, window: 1h } }
domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: hour, requests_per_unit: 2 }
`

export interface HttpRig {
  readonly url: string
  readonly context: ServerContext
  readonly listener: Listener
  /** Lines of the log, parsed. */
  readonly log: { readonly level: number; readonly msg: string; readonly [field: string]: unknown }[]
  /** Sends JSON and returns the status, the headers and the JSON of the answer. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Begins to drain, as a server does on SIGTERM. */
  drain(deadline?: number, idle?: number): Promise<void>
  stop(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look at answers of every shape
  readonly json: any
  readonly text: string
}

export interface RigOptions {
  readonly config?: string
  readonly host?: string
  readonly level?: string
  /** In place of the engine of the configuration. */
  readonly engine?: (engine: Engine) => Engine
}

/** Starts the HTTP API on a free port. */
export async function startHttp(options: RigOptions = {}): Promise<HttpRig> {
  const { config = defaultConfig, host = "127.0.0.1", level = "info" } = options
  const log: HttpRig["log"] = []
  const logger = pino({ level }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const metrics = new Registry()
  const stopMetrics = prometheus(metrics)
  const own = createEngine(readConfig([{ name: "test.yaml", text: config }], {}))
  const engine = options.engine?.(own) ?? own
  const draining = new AbortController()
  const context: ServerContext = {
    engine,
    log: logger,
    logStoreError: storeErrorLog(logger),
    metrics,
    metricsText: () => metrics.metrics(),
    topKeys: topKeys(),
    stopping: draining.signal,
    draining: draining.signal,
  }
  const listener = await listenHttp(context, { host, port: 0 })
  const url = `http://127.0.0.1:${listener.address.port}`
  await until(
    "the store answers",
    async () => (await fetch(`${url}/readyz`)).ok || options.engine !== undefined,
  )

  const call: HttpRig["call"] = async (method, path, body, headers = {}) => {
    const hasBody = body !== undefined
    const response = await fetch(url + path, {
      method,
      headers: { ...(hasBody && { "content-type": "application/json" }), ...headers },
      ...(hasBody && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parsed(text) }
  }

  let drained: Promise<void> | undefined
  const drain = (deadline = 1_000, idle = 500) => {
    draining.abort()
    drained ??= listener.drain({ deadline, idle })
    return drained
  }

  return {
    url,
    context,
    listener,
    log,
    call,
    post: (path, body, headers) => call("POST", path, body, headers),
    drain,
    async stop() {
      await drain(0)
      context.topKeys.stop()
      stopMetrics()
      await own.close()
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
