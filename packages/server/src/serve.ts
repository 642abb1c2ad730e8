import { pino } from "pino"
import { collectDefaultMetrics, Registry } from "prom-client"
import { prometheus, topKeys } from "sluice/telemetry"
import type { Config } from "./config/config.js"
import type { Listener, ServerContext } from "./context.js"
import { createEngine } from "./engine.js"
import { listenGrpc } from "./grpc/grpc-server.js"
import { listenHttp } from "./http/http-server.js"

/** A server that runs. */
export interface RunningServer {
  readonly http: Listener["address"] | undefined
  readonly grpc: Listener["address"] | undefined
  readonly context: ServerContext
  /** Takes a new configuration. Listeners, the store and the token stay as they are until a restart. */
  reload(config: Config): void
  /** Drains the listeners, gives leases back and closes the store. */
  close(): Promise<void>
}

export interface ServeOptions {
  /** Where logs go. Default: standard output, as lines of JSON. */
  readonly log?: ServerContext["log"] | undefined
}

/** Starts the listeners of a configuration. */
export async function serve(config: Config, options: ServeOptions = {}): Promise<RunningServer> {
  const { log = pino({ level: config.log.level, base: null }) } = options
  const metrics = new Registry()
  const stopMetrics = prometheus(metrics)
  collectDefaultMetrics({ register: metrics })
  const engine = createEngine(config, {
    onError: once((error) => log.warn({ error: error.message }, "Redis")),
  })
  const draining = new AbortController()
  const counted = topKeys({ store: engine.store, every: "1s" })
  const context: ServerContext = { engine, log, metrics, topKeys: counted, draining: draining.signal }
  const listeners: Listener[] = []
  const start = async (listen: typeof listenHttp, address: Config["listen"]["http"]) => {
    if (address === undefined) return undefined
    const listener = await listen(context, address)
    listeners.push(listener)
    return listener.address
  }

  const close = async () => {
    draining.abort()
    await Promise.all(listeners.map((listener) => listener.drain(config.http.drain)))
    context.topKeys.stop()
    stopMetrics()
    await engine.close()
  }

  try {
    const http = await start(listenHttp, config.listen.http)
    const grpc = await start(listenGrpc, config.listen.grpc)
    return {
      http,
      grpc,
      context,
      reload(next) {
        for (const warning of engine.reload(next)) log.warn(warning)
        log.info({ limiters: next.limiters.size, domains: next.domains.size }, "configuration reloaded")
      },
      close: once(close),
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Calls a function at most once per message, or once at all if it takes none. */
function once<A extends [Error] | [], R>(call: (...args: A) => R): (...args: A) => R {
  const results = new Map<string, R>()
  return (...args) => {
    const name = args[0]?.message ?? ""
    if (!results.has(name) && results.size < 1_000) results.set(name, call(...args))
    return results.get(name) as R
  }
}
