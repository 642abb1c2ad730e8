import { Cluster, Redis } from "ioredis"
import { ioredisClusterSettings, ioredisSettings } from "sluice/redis"
import type { StoreConfig } from "./config/config.js"

export type RedisConfig = Extract<StoreConfig, { type: "redis" }>

/** Connects to Redis with the settings under which no call is ever sent twice. */
export function connectRedis({ servers }: RedisConfig, onError: (error: Error) => void): Redis | Cluster {
  const client = clientOf(servers)
  client.on("error", onError)
  return client
}

function clientOf(servers: RedisConfig["servers"]): Redis | Cluster {
  if ("url" in servers) return new Redis(servers.url, ioredisSettings)
  if ("cluster" in servers) return new Cluster([...servers.cluster], ioredisClusterSettings)
  const { name, nodes } = servers.sentinel
  return new Redis({ ...ioredisSettings, name, sentinels: [...nodes] })
}
