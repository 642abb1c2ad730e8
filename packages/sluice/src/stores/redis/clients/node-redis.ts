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
  fCall(name: string, options: ScriptOptions): Promise<unknown>
  functionLoad?(library: string): Promise<unknown>
  /** A Cluster may lack it. */
  time?(): Promise<unknown>
}

interface NodeRedisCluster {
  readonly masters: readonly unknown[]
  nodeClient(master: unknown): PromiseLike<NodeRedisLike> | NodeRedisLike
}

/** Lets a store use a node-redis client, single, Cluster or Sentinel. */
export function nodeRedis(client: NodeRedisLike): RedisClient {
  checkClient("nodeRedis", client, ["evalSha", "eval", "fCall"])
  const methods = { FCALL: "fCall", EVALSHA: "evalSha", EVAL: "eval" } as const
  return {
    clustered: client.masters !== undefined,
    run: (command, script, keys, args) =>
      client[methods[command]](script, { keys: [...keys], arguments: [...args] }),
    async load(library) {
      if (client.masters === undefined) return client.functionLoad?.(library)
      const { masters, nodeClient } = client as unknown as NodeRedisCluster
      const loadOn = async (master: unknown) =>
        (await nodeClient.call(client as unknown as NodeRedisCluster, master)).functionLoad?.(library)
      return Promise.all(masters.map(loadOn))
    },
    time: async () => client.time?.(),
  }
}
