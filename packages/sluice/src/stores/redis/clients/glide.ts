import { checkClient, type RedisClient } from "../client.js"

/** The part of a valkey-glide client, single or cluster, that is used. */
export interface GlideLike {
  /** Only a cluster client has it. */
  readonly invokeScriptWithRoute?: unknown
  customCommand(args: string[]): Promise<unknown>
}

/**
 * Lets a store use a valkey-glide client, single or cluster. The client's own `invokeScript` answers NOSCRIPT
 * with SCRIPT LOAD and a third trip; as plain commands the scripts take one, and two where they are unknown.
 */
export function glide(client: GlideLike): RedisClient {
  checkClient("glide", client, ["customCommand"])
  const run = (command: string, script: string, keys: readonly string[], args: readonly string[]) =>
    client.customCommand([command, script, String(keys.length), ...keys, ...args])
  return {
    clustered: client.invokeScriptWithRoute !== undefined,
    runByHash: (sha, keys, args) => run("EVALSHA", sha, keys, args),
    runByText: (source, keys, args) => run("EVAL", source, keys, args),
  }
}
