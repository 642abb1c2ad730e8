import { checkClient, type RedisClient } from "../client.js"

/** The part of a valkey-glide client, single or cluster, that is used. */
export interface GlideLike {
  /** Only a cluster client has it. */
  readonly invokeScriptWithRoute?: unknown
  customCommand(args: string[]): Promise<unknown>
}

/** Lets a store use a valkey-glide client, single or cluster. */
export function glide(client: GlideLike): RedisClient {
  checkClient("glide", client, ["customCommand"])
  return {
    clustered: client.invokeScriptWithRoute !== undefined,
    run: (command, script, keys, args) =>
      client.customCommand([command, script, String(keys.length), ...keys, ...args]),
    // A cluster client sends this to all masters.
    load: (library) => client.customCommand(["FUNCTION", "LOAD", library]),
    time: () => client.customCommand(["TIME"]),
  }
}
