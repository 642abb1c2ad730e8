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
