import { Cluster, Redis } from "ioredis"
import {
  command,
  type RedisServer,
  startCluster,
  startRedis,
} from "../packages/sluice/test/support/redis-server.js"

export interface Connecting {
  /** A connection of one's own, ready for use. */
  connect(): Promise<Redis | Cluster>
}

/** A Redis, or a Cluster of them, that belongs to this run. */
export interface Server extends Connecting {
  readonly ports: readonly number[]
  /** Microseconds of processor time spent so far. */
  cpu(): Promise<number>
  /** How many scripts clients have called so far. */
  scriptCalls(): Promise<number>
  /** How many commands it has run so far, those inside scripts among them; its own `INFO` is left out. */
  commands(): Promise<number>
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
  return { connect: () => ready(new Redis(port, "127.0.0.1", settings)) }
}

export async function startMasters(): Promise<Server> {
  const { nodes } = await startCluster(3)
  const seeds = nodes.map(({ host, port }) => ({ host, port }))
  return serverOf(nodes, async () => ready(new Cluster(seeds, { redisOptions: settings })))
}

// what sluice asks of a client; the peers get the same, and nothing here is ever retried or queued
const settings = { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false }

function ready<Client extends Redis | Cluster>(client: Client): Promise<Client> {
  return new Promise((resolve, reject) => {
    client.once("ready", () => resolve(client))
    client.once("error", reject)
  })
}

function serverOf(nodes: readonly RedisServer[], connect: Server["connect"]): Server {
  const ports = nodes.map(({ port }) => port)
  const sum = async (section: string, pattern: RegExp) => {
    const infos = await Promise.all(ports.map((port) => command(port, "INFO", section)))
    const found = infos.flatMap((info) => [...String(info).matchAll(pattern)])
    return found.reduce((total, [, number]) => total + Number(number), 0)
  }
  return {
    ports,
    connect,
    cpu: async () => (await sum("cpu", /^used_cpu_(?:user|sys):([\d.]+)/gm)) * 1e6,
    scriptCalls: () => sum("commandstats", /^cmdstat_eval(?:sha)?:calls=(\d+)/gm),
    commands: () => sum("commandstats", /^cmdstat_(?!info:)[^:]+:calls=(\d+)/gm),
    memory: () => sum("memory", /^used_memory:(\d+)/gm),
    async version() {
      const info = String(await command(ports[0] as number, "INFO", "server"))
      return /(?:valkey|redis)_version:(\S+)/.exec(info)?.[0].replace("_version:", " ") ?? "unknown"
    },
    async flush() {
      await Promise.all(ports.map((port) => command(port, "FLUSHALL")))
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}
