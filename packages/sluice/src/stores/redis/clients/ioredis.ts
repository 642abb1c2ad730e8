import { checkClient, type RedisClient } from "../client.js"

/** The part of an ioredis or iovalkey `Redis` or `Cluster` that is used. */
export interface IoredisLike {
  readonly isCluster?: boolean
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
}

/** Lets a store use a client of ioredis or iovalkey, single, Cluster or Sentinel. */
export function ioredis(client: IoredisLike): RedisClient {
  checkClient("ioredis", client, ["evalsha", "eval"])
  return {
    clustered: client.isCluster === true,
    runByHash: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    runByText: (source, keys, args) => client.eval(source, keys.length, ...keys, ...args),
  }
}
