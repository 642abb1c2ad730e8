import cluster from "node:cluster"
import { fileURLToPath } from "node:url"
import type { Address, Config } from "../config/config.js"
import { loadSources, watchConfig } from "../config/load.js"
import { parseAddress } from "../config/read-address.js"
import { readConfig } from "../config/read-config.js"
import { redisUrlProblem } from "../config/read-store.js"
import { withoutPassword } from "../config/without-password.js"
import { withoutSecrets } from "../config/without-secrets.js"
import { serve } from "../serve.js"
import { reportStart, startWorkers } from "../workers.js"
import { type Arguments, type Command, integerOption, optionOf, UsageError } from "./command.js"
import { json, printable } from "./format.js"
import { greeting } from "./greeting.js"

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
    const [word] = args.words
    if (word !== undefined)
      throw new UsageError(`serve takes no arguments, got ${printable(word)}; write --config <file>`)
    const paths = args.options.get("config") ?? [sample]
    const adapt = overrides(args)
    const sources = loadSources(paths)
    const config = adapt(readConfig(sources, terminal.env))
    if (args.options.has("print-config")) {
      terminal.out(json(withoutSecrets(config)))
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
    if (cluster.isWorker) reportStart()
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
    const isFirst = cluster.worker === undefined || cluster.worker.id === 1
    if (isFirst && (terminal.isInteractive || args.options.get("config") === undefined))
      terminal.err(greeting(server))
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
  const listenOf = ({ listen }: Config): Config["listen"] => {
    const merged = {
      http: http === "configured" ? listen.http : http,
      grpc: grpc === "configured" ? listen.grpc : grpc,
    }
    if (merged.http === undefined && merged.grpc === undefined)
      throw new UsageError(nothingToListenOn(http, grpc))
    return merged
  }
  return (config) => ({
    ...config,
    listen: listenOf(config),
    ...(redis !== undefined && {
      store: { type: "redis", servers: { url: redis }, prefix: undefined, delivery: undefined },
    }),
  })
}

/** Says which options turned both listeners off. */
function nothingToListenOn(http: unknown, grpc: unknown): string {
  if (http === grpc) return "--http off and --grpc off leave nothing to listen on"
  const [off, other] = http === undefined ? ["http", "grpc"] : ["grpc", "http"]
  return `--${off} off leaves nothing to listen on, because the configuration turns ${other} off`
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
}
