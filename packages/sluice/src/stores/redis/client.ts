import { SluiceError, shown } from "../../errors.js"

/**
 * All that the store needs of a Redis client: to run a script on the node that holds `keys`. Both ways
 * resolve with the reply, whatever types the client maps it to, and reject with the error of the server or
 * of the connection.
 */
export interface RedisClient {
  /** Whether the keys of a call must share a slot. */
  readonly clustered?: boolean
  runByHash(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  runByText(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
}

/** Refuses a client that lacks what an adapter calls, which another adapter may be for. */
export function checkClient(adapter: string, client: unknown, methods: readonly string[]): void {
  const has = (method: string) => typeof (client as Record<string, unknown> | null)?.[method] === "function"
  if (methods.every(has)) return
  const others = Object.entries(marks).filter(([name, method]) => name !== adapter && has(method))
  const hint = others.map(([name]) => `; this looks like a client for ${name}(client)`).join("")
  throw new SluiceError(
    "INVALID_OPTION",
    `${adapter} takes a client with ${methods.join(" and ")}, got ${shown(client)}${hint}`,
  )
}

/** A method by which to know the clients that an adapter is for. */
const marks = { ioredis: "evalsha", nodeRedis: "evalSha", glide: "customCommand" }
