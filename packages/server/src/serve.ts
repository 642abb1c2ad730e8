import { setTimeout as delay } from "node:timers/promises"
import { pino } from "pino"
import { collectDefaultMetrics, Registry } from "prom-client"
import { prometheus, topKeys } from "sluice/telemetry"
import type { Config } from "./config/config.js"
import type { Listener, ServerContext } from "./context.js"
import { createEngine } from "./engine.js"
import { listenGrpc } from "./grpc/grpc-server.js"
import { KEEP_ALIVE, listenHttp } from "./http/http-server.js"
import { listenError } from "./listen-error.js"
import { outageLog } from "./outage-log.js"
import { storeErrorLog } from "./store-errors.js"
import { gatherMetrics } from "./worker-metrics.js"

/** Milliseconds after which no client that reads `Keep-Alive` uses an idle connection any more, with a second for the network. */
const IDLE = KEEP_ALIVE + 1_000

/** A server that runs. */
export interface RunningServer {
  readonly http: Listener["address"] | undefined
  readonly grpc: Listener["address"] | undefined
  readonly context: ServerContext
  /** Takes a new configuration. Listeners, the store and the form of the headers stay as they are until a restart. */
  reload(config: Config): void
  /** Waits for `http.shutdownDelay`, drains the listeners, gives leases back and closes the store. */
  close(options?: CloseOptions): Promise<void>
}

export interface CloseOptions {
  /** Ends at once what is idle, as Ctrl-C wants it: without the delay, and without waiting for idle connections. */
  readonly isPrompt?: boolean
}

export interface ServeOptions {
  /** Where logs go. Default: standard output, as lines of JSON. */
  readonly log?: ServerContext["log"] | undefined
  /** Whether this process is a worker of `startWorkers`, so that `/metrics` adds up all of them. Default: false. */
  readonly isWorker?: boolean | undefined
}

/** Starts the listeners of a configuration. */
export async function serve(config: Config, options: ServeOptions = {}): Promise<RunningServer> {
  const { log = pino({ level: config.log.level, base: null }), isWorker = false } = options
  const metrics = new Registry()
  const stopMetrics = prometheus(metrics)
  collectDefaultMetrics({ register: metrics })
  const engine = createEngine(config, outageLog(log))
  const [stopping, draining] = [new AbortController(), new AbortController()]
  const counted = topKeys({ store: engine.store, every: "1s" })
  const context: ServerContext = {
    engine,
    log,
    logStoreError: storeErrorLog(log),
    metrics,
    metricsText: isWorker ? gatherMetrics(metrics) : () => metrics.metrics(),
    topKeys: counted,
    stopping: stopping.signal,
    draining: draining.signal,
  }
  const listeners: Listener[] = []
  let closed: Promise<void> | undefined
  const start = async (name: "http" | "grpc", listen: typeof listenHttp) => {
    const address = config.listen[name]
    if (address === undefined) return undefined
    const listener = await listen(context, address).catch((error: Error) => {
      throw listenError(name, address, error)
    })
    listeners.push(listener)
    return listener.address
  }

  const close = async ({ isPrompt = false }: CloseOptions = {}) => {
    const { shutdownDelay, drain } = engine.config.http
    stopping.abort()
    if (!isPrompt && shutdownDelay > 0) await delay(shutdownDelay)
    draining.abort()
    const times = { deadline: drain, idle: isPrompt ? 0 : Math.max(IDLE - shutdownDelay, 0) }
    await Promise.all(listeners.map((listener) => listener.drain(times)))
    context.topKeys.stop()
    stopMetrics()
    await engine.close()
  }

  try {
    const http = await start("http", listenHttp)
    const grpc = await start("grpc", listenGrpc)
    return {
      http,
      grpc,
      context,
      reload(next) {
        for (const warning of [...engine.reload(next), ...needRestart(config, next)]) log.warn(warning)
        if (options.log === undefined) log.level = next.log.level
        log.info({ limiters: next.limiters.size, domains: next.domains.size }, "configuration reloaded")
      },
      close(options) {
        closed ??= close(options)
        return closed
      },
    }
  } catch (error) {
    await close({ isPrompt: true })
    throw error
  }
}

/** Warnings about changes that a running server cannot take, compared with the configuration that it started with. */
function needRestart(started: Config, next: Config): string[] {
  const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b)
  return [
    ...(differs(started.listen, next.listen) ? ["listen"] : []),
    ...(differs(started.http.headers, next.http.headers) ? ["http.headers"] : []),
  ].map((what) => `${what} has changed in the file; restart the server to use it`)
}
