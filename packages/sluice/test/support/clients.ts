import { once } from "node:events"
import { GlideClient, GlideClusterClient, Logger } from "@valkey/valkey-glide"
import * as ioredis6 from "ioredis"
import * as ioredis5 from "ioredis5"
import * as iovalkey from "iovalkey"
import * as redis6 from "redis"
import * as redis4 from "redis4"
import * as redis5 from "redis5"
import {
  glide,
  type IoredisLike,
  ioredis,
  type NodeRedisLike,
  nodeRedis,
  type RedisClient,
} from "sluice/redis"

const host = "127.0.0.1"
Logger.setLoggerConfig("off")

/** Settings with which ioredis and iovalkey neither queue calls nor repeat calls that may have run. */
export const strict = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
}

/** The same for their Cluster, which has its own retries. */
export const strictCluster = { enableOfflineQueue: false, retryDelayOnFailover: 0, redisOptions: strict }

/** A client behind its adapter. */
export interface Connected {
  readonly client: RedisClient
  close(): unknown
}

/** One version of one client library, connected with the settings in docs/redis.md. */
export interface ClientKind {
  readonly name: string
  single(port: number): Promise<Connected>
  cluster(port: number): Promise<Connected>
  /** Missing if the library does not support Sentinel. */
  sentinel?(port: number, master: string): Promise<Connected>
}

interface Address {
  host: string
  port: number
}

interface IoredisInstance extends IoredisLike, NodeJS.EventEmitter {
  disconnect(): void
}

interface IoredisLibrary {
  Redis: new (options: typeof strict & Record<string, unknown>) => IoredisInstance
  Cluster: new (nodes: Address[], options: typeof strictCluster) => IoredisInstance
}

function ioredisKind(name: string, { Redis, Cluster }: IoredisLibrary): ClientKind {
  const connect = async (instance: IoredisInstance): Promise<Connected> => {
    instance.on("error", () => {})
    await once(instance, "ready")
    return { client: ioredis(instance), close: () => instance.disconnect() }
  }
  return {
    name,
    single: (port) => connect(new Redis({ ...strict, host, port })),
    cluster: (port) => connect(new Cluster([{ host, port }], strictCluster)),
    sentinel: (port, master) => connect(new Redis({ ...strict, sentinels: [{ host, port }], name: master })),
  }
}

interface NodeRedisInstance extends NodeRedisLike {
  on(event: "error", listener: () => void): unknown
  connect(): Promise<unknown>
  destroy?(): void
  /** The method of version 4 instead of `destroy`. */
  disconnect?(): Promise<void>
}

interface NodeRedisLibrary {
  createClient(options: { disableOfflineQueue: true; socket: Address }): NodeRedisInstance
  createCluster(options: {
    defaults: { disableOfflineQueue: true }
    rootNodes: { socket: Address }[]
  }): NodeRedisInstance
  createSentinel?(options: {
    name: string
    sentinelRootNodes: Address[]
    maxCommandRediscovers: number
  }): NodeRedisInstance
}

function nodeRedisKind(name: string, library: NodeRedisLibrary): ClientKind {
  const strictly = { disableOfflineQueue: true } as const
  const connect = async (instance: NodeRedisInstance): Promise<Connected> => {
    instance.on("error", () => {})
    await instance.connect()
    const close = async () => (instance.destroy ? instance.destroy() : instance.disconnect?.())
    return { client: nodeRedis(instance), close }
  }
  const { createSentinel } = library
  return {
    name,
    single: (port) => connect(library.createClient({ ...strictly, socket: { host, port } })),
    cluster: (port) =>
      connect(library.createCluster({ defaults: strictly, rootNodes: [{ socket: { host, port } }] })),
    ...(createSentinel && {
      sentinel: (port, master) =>
        connect(
          createSentinel({ name: master, sentinelRootNodes: [{ host, port }], maxCommandRediscovers: 0 }),
        ),
    }),
  }
}

const glideKind: ClientKind = {
  name: "valkey-glide 2",
  async single(port) {
    const instance = await GlideClient.createClient({ addresses: [{ host, port }], requestTimeout: 2_000 })
    return { client: glide(instance), close: () => instance.close() }
  },
  async cluster(port) {
    const options = { addresses: [{ host, port }], requestTimeout: 2_000 }
    const instance = await GlideClusterClient.createClient(options)
    return { client: glide(instance), close: () => instance.close() }
  },
}

/** Every supported client. */
export const clientKinds: readonly ClientKind[] = [
  ioredisKind("ioredis 6", ioredis6),
  ioredisKind("ioredis 5", ioredis5),
  ioredisKind("iovalkey", iovalkey),
  nodeRedisKind("node-redis 6", redis6),
  nodeRedisKind("node-redis 5", redis5),
  nodeRedisKind("node-redis 4", redis4),
  glideKind,
]
