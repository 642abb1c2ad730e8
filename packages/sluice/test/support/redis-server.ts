import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { command } from "./resp.js"

export { command } from "./resp.js"

export interface RedisServer {
  readonly host: "127.0.0.1"
  readonly port: number
  readonly url: string
  readonly pid: number
  /** Sends a signal that ends the server, SIGKILL unless told, and waits for its exit; its files stay. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends the server and removes its temporary folder. */
  stop(): Promise<void>
  /** Starts the server again on the same port, arguments and files, as after a crash when it still runs. */
  restart(): Promise<void>
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  stop(): Promise<void>
}

export interface RedisSentinel extends RedisServer {
  /** The name under which the sentinel watches its master. */
  readonly master: string
}

const host = "127.0.0.1"
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

export interface ServerOptions {
  readonly args?: readonly string[] | ((port: number) => readonly string[])
  readonly dir?: string
  readonly port?: number
  /** A path by which commands are sent to get to know a server that talks to nobody else in plain words. */
  readonly socket?: string
  /** Milliseconds by which the server's clock is ahead, or behind if negative. */
  readonly clockOff?: number
}

/** Starts a private server that keeps nothing on disk unless `args` say otherwise. */
export async function startRedis(options: ServerOptions = {}): Promise<RedisServer> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "sluice-redis-")))
  const common = ["--save", "", "--appendonly", "no", "--dir", dir]
  const { args = [], socket, clockOff = 0 } = options
  const more = typeof args === "function" ? args : () => args
  return supervise({
    run: (port) => launch(port, [...common, ...more(port)], { at: socket, env: clockEnv(clockOff) }),
    // what tells another time cleans up after itself only if it is asked to end
    ending: clockOff === 0 ? "SIGKILL" : "SIGTERM",
    clean: async () => {
      if (options.dir === undefined) await rm(dir, { recursive: true, force: true })
    },
    port: options.port,
  })
}

/** Starts a cluster of masters that share the slots evenly; with `replicas`, nodes after them are one of each. */
export async function startCluster(
  masters = 3,
  { replicas = false, argsOf = (_node: number, _port: number): readonly string[] => [] } = {},
): Promise<RedisCluster> {
  const common = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]
  const count = replicas ? masters * 2 : masters
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, node) =>
      startRedis({ args: (port) => [...common, ...argsOf(node, port)] }),
    ),
  )
  const firstSlot = (index: number) => Math.floor((index * 16_384) / masters)
  for (const [index, { port }] of nodes.entries()) {
    if (index < masters) {
      await command(port, "CLUSTER", "ADDSLOTSRANGE", firstSlot(index), firstSlot(index + 1) - 1)
    }
    await command(port, "CLUSTER", "SET-CONFIG-EPOCH", index + 1)
    await command(port, "CLUSTER", "MEET", host, nodes[0]?.port ?? port)
  }
  for (const { port } of nodes) {
    await until(`node ${port} of the cluster agrees`, async () => {
      const info = String(await command(port, "CLUSTER", "INFO"))
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}\r`)
    })
  }
  for (const [index, replica] of nodes.slice(masters).entries()) {
    const master = nodes[index] as RedisServer
    await command(master.port, "CONFIG", "SET", "repl-diskless-sync-delay", 0)
    await command(replica.port, "CLUSTER", "REPLICATE", String(await command(master.port, "CLUSTER", "MYID")))
  }
  await Promise.all(
    nodes.slice(masters).map((replica, index) => inStep(replica, nodes[index] as RedisServer)),
  )
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  return { nodes, stop }
}

/** Starts a replica and waits until it has copied its master. */
export async function startReplica(
  of: RedisServer,
  options: { clockOff?: number } = {},
): Promise<RedisServer> {
  // a diskless copy waits five seconds for more replicas unless told
  await command(of.port, "CONFIG", "SET", "repl-diskless-sync-delay", 0)
  const replica = await startRedis({ ...options, args: ["--replicaof", of.host, String(of.port)] })
  await inStep(replica, of)
  return replica
}

async function inStep(replica: RedisServer, of: RedisServer): Promise<void> {
  // the master passes writes on only after it has heard that the copy arrived
  await until(`replica ${replica.port} is in step`, async () => {
    const below = String(await command(replica.port, "INFO", "replication"))
    const above = String(await command(of.port, "INFO", "replication"))
    return below.includes("master_link_status:up") && above.includes(`port=${replica.port},state=online`)
  })
}

/** Starts a sentinel that watches a master and calls it down after half a second of silence. */
export async function startSentinel(of: RedisServer, quorum = 1): Promise<RedisSentinel> {
  const master = "main"
  const dir = await mkdtemp(join(tmpdir(), "sluice-sentinel-"))
  const config = join(dir, "sentinel.conf")
  await writeFile(config, "")
  const sentinel = await supervise({
    run: (port) => launch(port, ["--sentinel", "--dir", dir], { config }),
    clean: () => rm(dir, { recursive: true, force: true }),
  })
  const { port } = sentinel
  await command(port, "SENTINEL", "MONITOR", master, of.host, of.port, quorum)
  await command(port, "SENTINEL", "SET", master, "down-after-milliseconds", 500, "failover-timeout", 5_000)
  const replicas = /connected_slaves:(\d+)/.exec(String(await command(of.port, "INFO", "replication")))?.[1]
  await until(`sentinel ${port} sees its master and the replicas`, async () =>
    new RegExp(`status=ok,.*,slaves=${replicas},`).test(String(await command(port, "INFO", "sentinel"))),
  )
  return Object.assign(sentinel, { master })
}

interface Recipe {
  run(port: number): Promise<ChildProcess>
  clean(): Promise<void>
  port?: number | undefined
  /** How it is stopped. */
  ending?: NodeJS.Signals
}

async function supervise({ run, clean, port: wanted, ending = "SIGKILL" }: Recipe): Promise<RedisServer> {
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

/** Makes a process see another time of day, by libfaketime, which is for Linux. */
function clockEnv(off: number): NodeJS.ProcessEnv {
  if (off === 0) return {}
  // jemalloc asks for the time before the library that is to tell it has memory, so the C library's malloc comes first
  const preload = "/usr/$LIB/faketime/libfaketime.so.1 libc.so.6"
  return {
    LD_PRELOAD: preload,
    FAKETIME: `${off > 0 ? "+" : ""}${off / 1_000}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  }
}

interface Launch {
  /** A file that holds the settings. */
  readonly config?: string
  /** Where it answers, unless by its port. */
  readonly at?: string | undefined
  readonly env?: NodeJS.ProcessEnv
}

async function launch(
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

// the process id tells our server from a stranger that holds the port
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
async function freePort(): Promise<number> {
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

async function until(what: string, holds: () => Promise<boolean>, patienceMs = 20_000): Promise<void> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    // a server that is starting refuses connections or says LOADING
    const held = await holds().catch((error: unknown) => {
      if (error instanceof Stillborn || Date.now() > deadline) throw error
      return false
    })
    if (held) return
    if (Date.now() > deadline) throw new Error(`gave up waiting until ${what}`)
    await sleep(20)
  }
}
