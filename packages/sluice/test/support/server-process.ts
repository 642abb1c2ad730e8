import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { command } from "./resp.js"

export interface RedisServer {
  readonly host: "127.0.0.1"
  readonly port: number
  readonly url: string
  readonly pid: number
  /** Ends the server with a signal, SIGKILL by default, and waits for its exit. Its files stay. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends the server and removes its temporary folder. */
  stop(): Promise<void>
  /** Restarts the server with the same port, arguments and files. Kills it first if it still runs. */
  restart(): Promise<void>
}

export const host = "127.0.0.1"
const binary = ["redis-server", "valkey-server"].find((name) => !spawnSync(name, ["--version"]).error)

const children = new Set<ChildProcess>()
const killAll = () => {
  for (const child of children) child.kill("SIGKILL")
}
process.on("exit", killAll)
process.on("disconnect", killAll) // a test worker whose runner is gone
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    killAll()
    process.kill(process.pid, signal)
  })
}

export interface Recipe {
  run(port: number): Promise<ChildProcess>
  clean(): Promise<void>
  port?: number | undefined
  /** How it is stopped. */
  ending?: NodeJS.Signals
}

/** Runs a server on the given port, or on a free one, until it is stopped. */
export async function supervise({
  run,
  clean,
  port: wanted,
  ending = "SIGKILL",
}: Recipe): Promise<RedisServer> {
  const started =
    wanted === undefined ? onFreePort(run) : run(wanted).then((child) => ({ port: wanted, child }))
  let { port, child } = await started.catch(async (error: unknown) => {
    await clean()
    throw error
  })
  return {
    host,
    port,
    url: `redis://${host}:${port}`,
    get pid() {
      return child.pid ?? 0
    },
    kill: (signal) => end(child, signal),
    async stop() {
      await end(child, ending)
      await clean()
    },
    async restart() {
      await end(child, ending)
      child = await run(port)
    },
  }
}

interface Launch {
  /** A file that holds the settings. */
  readonly config?: string
  /** Where it accepts commands, if not on its port. */
  readonly at?: string | undefined
  readonly env?: NodeJS.ProcessEnv
}

/** Starts a process and waits until it replies. */
export async function launch(
  port: number,
  args: readonly string[],
  { config, at, env }: Launch = {},
): Promise<ChildProcess> {
  if (binary === undefined) throw new Error("neither redis-server nor valkey-server is on the PATH")
  const common = ["--port", String(port), "--bind", host, "--daemonize", "no", "--loglevel", "warning"]
  const child = spawn(binary, [...(config === undefined ? [] : [config]), ...common, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  })
  children.add(child)
  child.once("exit", () => children.delete(child))
  let log = ""
  child.stdout.on("data", (chunk) => {
    log += chunk
  })
  child.stderr.on("data", (chunk) => {
    log += chunk
  })
  try {
    await until(`server ${port} answers`, async () => {
      if (exited(child)) throw new Stillborn(`server ${port} did not start: ${log}`)
      return answers(at ?? port, child)
    })
  } catch (error) {
    await end(child)
    throw error
  }
  return child
}

class Stillborn extends Error {}

// The process id distinguishes our server from another one on the port.
async function answers(at: number | string, child: ChildProcess): Promise<boolean> {
  if ((await command(at, "PING")) !== "PONG") return false
  return String(await command(at, "INFO", "server")).includes(`process_id:${child.pid}\r`)
}

async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  if (exited(child)) return
  const gone = new Promise((resolve) => child.once("exit", resolve))
  child.kill(signal)
  await gone
}

function exited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function onFreePort(run: Recipe["run"]): Promise<{ port: number; child: ChildProcess }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    try {
      return { port, child: await run(port) }
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

// Below the ports that the kernel lends to outgoing connections, as is the cluster bus 10000 above:
// a client that dials a dead server there could otherwise be connected to itself.
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 10_000)
    if (await listens(port)) return port
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen(port, host, () => probe.close(() => resolve(true)))
  })
}

export async function until(what: string, holds: () => Promise<boolean>, patienceMs = 20_000): Promise<void> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    // A server that is starting refuses connections or replies LOADING.
    const held = await holds().catch((error: unknown) => {
      if (error instanceof Stillborn || Date.now() > deadline) throw error
      return false
    })
    if (held) return
    if (Date.now() > deadline) throw new Error(`gave up waiting until ${what}`)
    await sleep(20)
  }
}
