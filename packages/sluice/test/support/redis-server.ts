import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { command } from "./resp.js"
import { host, launch, type RedisServer, supervise, until } from "./server-process.js"

export { command } from "./resp.js"
export type { RedisServer } from "./server-process.js"

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  stop(): Promise<void>
}

export interface RedisSentinel extends RedisServer {
  /** The name under which the sentinel watches its master. */
  readonly master: string
}

export interface ServerOptions {
  readonly args?: readonly string[] | ((port: number) => readonly string[])
  readonly dir?: string
  readonly port?: number
  /** The Unix socket for commands to a server that otherwise accepts only TLS. */
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
    // libfaketime cleans up only if the process is asked to end.
    ending: clockOff === 0 ? "SIGKILL" : "SIGTERM",
    clean: async () => {
      if (options.dir === undefined) await rm(dir, { recursive: true, force: true })
    },
    port: options.port,
  })
}

/** Starts a cluster of masters that share the slots evenly. With `replicas`, each master gets one, listed after the masters. */
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

/** Moves one slot with its keys from master to master. */
export async function moveSlot(slot: number, source: RedisServer, target: RedisServer): Promise<void> {
  const [sourceId, targetId] = [
    String(await command(source.port, "CLUSTER", "MYID")),
    String(await command(target.port, "CLUSTER", "MYID")),
  ]
  // The target takes the slot with an epoch above all that it knows. If it did not know the source's, the source would win.
  await until(`${target.port} and ${source.port} know the same epoch`, async () => {
    const [its, ours] = await Promise.all([source, target].map(epochOf))
    return its === ours
  })
  await command(target.port, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceId)
  await command(source.port, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetId)
  for (;;) {
    const keys = (await command(source.port, "CLUSTER", "GETKEYSINSLOT", slot, 20)) as string[]
    if (keys.length === 0) break
    await command(source.port, "MIGRATE", target.host, target.port, "", 0, 5_000, "KEYS", ...keys)
  }
  await command(target.port, "CLUSTER", "SETSLOT", slot, "NODE", targetId)
  await command(source.port, "CLUSTER", "SETSLOT", slot, "NODE", targetId)
}

/** The highest configuration epoch that a node of a Cluster knows. */
async function epochOf({ port }: RedisServer): Promise<string | undefined> {
  return /cluster_current_epoch:(\d+)/.exec(String(await command(port, "CLUSTER", "INFO")))?.[1]
}

/** Starts a replica and waits until it has copied its master. */
export async function startReplica(
  of: RedisServer,
  options: { clockOff?: number } = {},
): Promise<RedisServer> {
  // By default, diskless replication waits five seconds for more replicas.
  await command(of.port, "CONFIG", "SET", "repl-diskless-sync-delay", 0)
  const replica = await startRedis({ ...options, args: ["--replicaof", of.host, String(of.port)] })
  await inStep(replica, of)
  return replica
}

/** Resolves once a replica has all writes of its master. */
export async function inStep(replica: RedisServer, of: RedisServer): Promise<void> {
  const offset = (info: string) => /master_repl_offset:(\d+)/.exec(info)?.[1]
  // The master forwards writes only after the replica has confirmed the copy.
  await until(`replica ${replica.port} is in step`, async () => {
    const above = String(await command(of.port, "INFO", "replication"))
    const below = String(await command(replica.port, "INFO", "replication"))
    const isConnected =
      below.includes("master_link_status:up") && above.includes(`port=${replica.port},state=online`)
    return isConnected && offset(below) === offset(above)
  })
}

/** Starts a sentinel that watches a master and declares it down after half a second without a reply. */
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

/** Gives a process another system time, with libfaketime, on Linux only. */
function clockEnv(off: number): NodeJS.ProcessEnv {
  if (off === 0) return {}
  // jemalloc reads the time before libfaketime is initialised, so the malloc of the C library comes first.
  const preload = "/usr/$LIB/faketime/libfaketime.so.1 libc.so.6"
  return {
    LD_PRELOAD: preload,
    FAKETIME: `${off > 0 ? "+" : ""}${off / 1_000}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  }
}
