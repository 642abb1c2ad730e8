import { checkClient, type RedisClient } from "../client.js"

interface ScriptOptions {
  keys: string[]
  arguments: string[]
}

/** The part of a node-redis client, cluster, sentinel or pool that is used. */
export interface NodeRedisLike {
  /** Only a cluster has it. */
  readonly masters?: unknown
  evalSha(sha: string, options: ScriptOptions): Promise<unknown>
  eval(source: string, options: ScriptOptions): Promise<unknown>
}

/** Lets a store use a node-redis client, single, Cluster or Sentinel. */
export function nodeRedis(client: NodeRedisLike): RedisClient {
  checkClient("nodeRedis", client, ["evalSha", "eval"])
  return {
    clustered: client.masters !== undefined,
    runByHash: (sha, keys, args) => client.evalSha(sha, { keys: [...keys], arguments: [...args] }),
    runByText: (source, keys, args) => client.eval(source, { keys: [...keys], arguments: [...args] }),
  }
}
