import { Cluster, Redis } from "ioredis"
import { ioredisClusterSettings, ioredisSettings } from "sluice/redis"
import type { StoreConfig } from "./config/config.js"

export type RedisConfig = Extract<StoreConfig, { type: "redis" }>

/** Connects to Redis with the settings under which no call is ever sent twice. `onReady` is called for each new connection. */
export function connectRedis(
  { servers }: RedisConfig,
  onError: (error: Error) => void,
  onReady: () => void = () => {},
): Redis | Cluster {
  const client = clientOf(servers)
  client.on("error", onError)
  client.on("ready", onReady)
  return client
}

/** ioredis waits up to 5 seconds between two attempts by default, while requests fail. */
const settings = {
  ...ioredisSettings,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, 1_000),
}

function clientOf(servers: RedisConfig["servers"]): Redis | Cluster {
  if ("url" in servers) return new Redis({ ...optionsOf(servers.url), ...settings })
  if ("cluster" in servers) {
    const nodes = servers.cluster.map(optionsOf)
    // Nodes that the Cluster names later have the same user and password as the first.
    const { host: _, port: __, db: ___, ...access } = nodes[0] as ServerOptions
    const redisOptions = { ...access, ...ioredisSettings }
    return new Cluster(
      nodes.map(({ host, port }) => ({ host, port })),
      { ...ioredisClusterSettings, redisOptions },
    )
  }
  const { name, nodes, password, sentinelPassword } = servers.sentinel
  return new Redis({
    ...settings,
    name,
    sentinels: [...nodes],
    ...(password !== undefined && { password }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
  })
}

interface ServerOptions {
  readonly host: string
  readonly port: number
  readonly username?: string
  readonly password?: string
  readonly db?: number
  readonly tls?: object
}

/** The parts of a URL. Not ioredis' own reading, which lets the query of a URL override the settings. */
export function optionsOf(url: string): ServerOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  return {
    host: hostname.replaceAll(/[[\]]/g, ""),
    port: port === "" ? 6379 : Number(port),
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
    ...(/^\/\d+$/.test(pathname) && { db: Number(pathname.slice(1)) }),
    ...(protocol === "rediss:" && { tls: {} }),
  }
}
