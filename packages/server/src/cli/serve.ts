import cluster from "node:cluster"
import { fileURLToPath } from "node:url"
import type { Address, Config } from "../config/config.js"
import { loadSources, watchConfig } from "../config/load.js"
import { parseAddress, readConfig, redisUrlProblem } from "../config/read-config.js"
import { withoutPassword } from "../config/without-password.js"
import { type RunningServer, serve } from "../serve.js"
import { startWorkers } from "../workers.js"
import { type Arguments, type Command, integerOption, optionOf, UsageError } from "./command.js"

const sample = fileURLToPath(new URL("../../sample.yaml", import.meta.url))

export const serveCommand: Command = {
  summary: "run the server",
  usage: "sluice serve [--config <file or folder>]... [options]",
  options: {
    "config=": "a file, or a folder of .yaml files; may be repeated. Default: a sample configuration",
    "http=": "the address for HTTP, such as :8080, in place of the configured one; off for none",
    "grpc=": "the address for gRPC, likewise",
    "redis=": "the URL of a Redis, in place of the configured store",
    "workers=": "how many processes share the work, 1 by default; needs Redis",
    "print-config": "print the configuration as it was understood, and exit",
  },
  examples: [
    "sluice serve",
    "sluice serve --config sluice.yaml --redis redis://localhost:6379 --workers 4",
    "sluice serve --config sluice.yaml --print-config",
  ],
  async run(args, terminal) {
    const paths = args.options.get("config") ?? [sample]
    const adapt = overrides(args)
    const sources = loadSources(paths)
    const config = adapt(readConfig(sources, terminal.env))
    if (args.options.has("print-config")) {
      terminal.out(printed(config))
      return 0
    }
    const workers = integerOption(args, "workers", 1)
    if (workers > 1 && config.store.type === "memory") {
      throw new UsageError(
        "--workers needs Redis: each process would have a memory store of its own, and the limits would multiply",
      )
    }
    if (workers > 1) return startWorkers(workers, terminal)
    // From here on, because the signal ends a process that does not listen for it.
    let hasHungUp = false
    let reload = () => {
      hasHungUp = true
    }
    const onHangUp = () => reload()
    process.on("SIGHUP", onHangUp)
    const server = await serve(config, { isWorker: cluster.isWorker })
    const watch = watchConfig(
      paths,
      (next) => server.reload(adapt(next)),
      (error) => {
        const problems = String((error as Error).message)
        server.context.log.error({ problems }, "the new configuration is refused; the old one stays in force")
      },
      sources,
    )
    reload = watch.reload
    if (hasHungUp) reload()
    if (terminal.isInteractive || args.options.get("config") === undefined) terminal.err(greeting(server))
    await aborted(terminal.signal)
    watch.stop()
    process.off("SIGHUP", onHangUp)
    server.context.log.info("draining")
    await server.close({ isPrompt: terminal.signal.reason === "SIGINT" })
    return 0
  },
}

/** Puts what the command line says over what a file says. */
function overrides(args: Arguments): (config: Config) => Config {
  const address = (name: "http" | "grpc"): Address | undefined | "configured" => {
    const text = optionOf(args, name)
    if (text === undefined) return "configured"
    if (text === "off") return undefined
    const parsed = parseAddress(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text)
    if (parsed === undefined) throw new UsageError(`--${name} must be host:port, :port or off, got ${text}`)
    return parsed
  }
  const [http, grpc, redis] = [address("http"), address("grpc"), optionOf(args, "redis")]
  const problem = redis === undefined ? undefined : redisUrlProblem(redis)
  if (problem !== undefined) throw new UsageError(`--redis ${problem}, got ${withoutPassword(redis ?? "")}`)
  return (config) => ({
    ...config,
    listen: {
      http: http === "configured" ? config.listen.http : http,
      grpc: grpc === "configured" ? config.listen.grpc : grpc,
    },
    ...(redis !== undefined && {
      store: { type: "redis", servers: { url: redis }, prefix: undefined, delivery: undefined },
    }),
  })
}

/** The configuration as JSON, without secrets. */
function printed(config: Config): string {
  const hide = (key: string, value: unknown) => {
    if (/token|password/i.test(key) && value !== undefined) return "(hidden)"
    if (typeof value === "string" && /^rediss?:/.test(value)) return withoutPassword(value)
    return value instanceof Map ? Object.fromEntries(value) : value
  }
  return `${JSON.stringify(config, hide, 2)}\n`
}

function greeting({ http, grpc, context }: RunningServer): string {
  const { store, limiters } = context.engine.config
  const where = store.type === "memory" ? "in memory" : "in Redis"
  const lines = ["", `Sluice is running, with its state ${where}. Ctrl-C stops it.`]
  if (http !== undefined) {
    const [name = "api"] = limiters.keys()
    const base = `http://${urlHost(http)}:${http.port}`
    lines.push("", "Ask whether alice may go on, and look at what is left:", "")
    const body = `-H 'content-type: application/json' -d '{"key":"alice"}'`
    lines.push(`  curl -i ${base}/v1/limiters/${name}/acquire ${body}`)
    lines.push(`  curl "${base}/v1/limiters/${name}/inspect?key=alice"`)
    lines.push("", `HTTP:  ${base}   (API: /openapi.json, metrics: /metrics)`)
  }
  if (grpc !== undefined) lines.push(`gRPC:  ${urlHost(grpc)}:${grpc.port}   (Envoy's rate limit protocol)`)
  return `${lines.join("\n")}\n\n`
}

function urlHost({ host }: Address): string {
  if (host === "0.0.0.0" || host === "::") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
}
