import { SluiceError, shown } from "../../errors.js"

/** The commands that run our Lua: as a function, as a script by its hash, as a script by its text. */
export type RunCommand = "FCALL" | "EVALSHA" | "EVAL"

/** All that the store needs of a Redis client. */
export interface RedisClient {
  /** Whether the keys of a call must share a slot. */
  readonly clustered?: boolean
  /**
   * Runs a function by name, or a script by hash or text, on the node that holds `keys`. Resolves with the reply, whatever types
   * the client maps it to. Rejects with the error of the server or of the connection.
   */
  run(command: RunCommand, script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** Loads a function library on every master: `FUNCTION LOAD`. Without this method the store only uses scripts. */
  load?(library: string): Promise<unknown>
  /** Asks a server for its time: `TIME`. Without this method, a clock given to the store is not compared with it. */
  time?(): Promise<unknown>
}

/** Refuses a client that lacks what an adapter calls, and names the adapter that fits. */
export function checkClient(adapter: string, client: unknown, methods: readonly string[]): void {
  const has = (method: string) => typeof (client as Record<string, unknown> | null)?.[method] === "function"
  if (methods.every(has)) return
  const other = Object.entries(telltales).find(([name, method]) => name !== adapter && has(method))
  const hint = other === undefined ? "" : `; this looks like a client for ${other[0]}(client)`
  throw new SluiceError(
    "INVALID_OPTION",
    `${adapter} takes a client with ${methods.join(" and ")}, got ${shown(client)}${hint}`,
  )
}

/** A method that tells the clients of an adapter from those of the adapters behind it. */
const telltales = {
  upstash: "createScript",
  ioredis: "evalsha",
  nodeRedis: "evalSha",
  glide: "customCommand",
}
