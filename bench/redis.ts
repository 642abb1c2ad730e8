import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis"
import {
  command,
  type RedisServer,
  startCluster,
  startRedis,
} from "../packages/sluice/test/support/redis-server.js"

export interface Connecting {
  /** A connection of one's own, ready for use. */
  connect(options?: ConnectOptions): Promise<Redis | Cluster>
}

/** Settings on top of those that all subjects have. */
export type ConnectOptions = Pick<RedisOptions & ClusterOptions, "enableAutoPipelining">

/** Script and function calls, and how many microseconds they held the server. */
export interface ScriptStats {
  readonly calls: number
  readonly microseconds: number
}

/** A Redis, or a Cluster of them, that belongs to this run. */
export interface Server extends Connecting {
  readonly ports: readonly number[]
  /** Microseconds of processor time spent so far. */
  cpu(): Promise<number>
  /** What clients have called so far by EVAL, EVALSHA and FCALL. */
  scripts(): Promise<ScriptStats>
  /** How many commands it has run so far, those inside scripts among them; its own `INFO` is left out. */
  commands(): Promise<number>
  /** Sets all statistics of commands to zero. */
  resetStatistics(): Promise<void>
  /** For how many microseconds one script or function call held the server since then. */
  holds(): Promise<{ readonly p99: number; readonly longest: number }>
  /** Bytes in use. */
  memory(): Promise<number>
  version(): Promise<string>
  flush(): Promise<void>
  stop(): Promise<void>
}

export async function startServer(): Promise<Server> {
  const server = await startRedis()
  return serverOf([server], connectTo(server.port).connect)
}

/** A server that another process started: it can be used, no more. */
export function connectTo(port: number): Connecting {
  return { connect: (options) => ready(new Redis(port, "127.0.0.1", { ...settings, ...options })) }
}

export async function startMasters(): Promise<Server> {
  const { nodes } = await startCluster(3)
  const seeds = nodes.map(({ host, port }) => ({ host, port }))
  return serverOf(nodes, async (options) => ready(new Cluster(seeds, { redisOptions: settings, ...options })))
}

/** What Sluice asks of a client. The peers get the same: nothing is sent twice or queued. */
const settings = { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false }

function ready<Client extends Redis | Cluster>(client: Client): Promise<Client> {
  return new Promise((resolve, reject) => {
    client.once("ready", () => resolve(client))
    client.once("error", reject)
  })
}

function serverOf(nodes: readonly RedisServer[], connect: Server["connect"]): Server {
  const ports = nodes.map(({ port }) => port)
  const each = (...args: [string, ...(string | number)[]]) =>
    Promise.all(ports.map((port) => command(port, ...args)))
  const sum = async (section: string, pattern: RegExp) => {
    const found = (await each("INFO", section)).flatMap((info) => [...String(info).matchAll(pattern)])
    return found.reduce((total, [, number]) => total + Number(number), 0)
  }
  return {
    ports,
    connect,
    cpu: async () => (await sum("cpu", /^used_cpu_(?:user|sys):([\d.]+)/gm)) * 1e6,
    async scripts() {
      const pattern = (field: string) =>
        new RegExp(`^cmdstat_(?:eval|evalsha|fcall)(?:_ro)?:.*?\\b${field}=(\\d+)`, "gm")
      return {
        calls: await sum("commandstats", pattern("calls")),
        microseconds: await sum("commandstats", pattern("usec")),
      }
    },
    commands: () => sum("commandstats", /^cmdstat_(?!info:)[^:]+:calls=(\d+)/gm),
    async resetStatistics() {
      await each("CONFIG", "SET", "latency-tracking-info-percentiles", "99 100")
      await each("CONFIG", "RESETSTAT")
    },
    async holds() {
      const infos = (await each("INFO", "latencystats")).join("\n")
      const pattern = /^latency_percentiles_usec_(?:eval|evalsha|fcall)(?:_ro)?:p99=([\d.]+),p100=([\d.]+)/gm
      const found = [...infos.matchAll(pattern)]
      const most = (group: number) => Math.max(...found.map((match) => Number(match[group])))
      return { p99: most(1), longest: most(2) }
    },
    memory: () => sum("memory", /^used_memory:(\d+)/gm),
    async version() {
      const info = String(await command(ports[0] as number, "INFO", "server"))
      return /(?:valkey|redis)_version:(\S+)/.exec(info)?.[0].replace("_version:", " ") ?? "unknown"
    },
    async flush() {
      await each("FLUSHALL")
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}
