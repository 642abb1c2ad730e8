import { soon } from "../../../later.js"
import { checkClient, type RedisClient } from "../client.js"
import { CLOSED, UNCONNECTED } from "../outcome.js"

/** The part of an ioredis or iovalkey `Redis` or `Cluster` that is used. */
export interface IoredisLike {
  readonly isCluster?: boolean
  /** `"end"` once it is closed for good. */
  readonly status?: string
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
}

/** Lets a store use a client of ioredis or iovalkey, single, Cluster or Sentinel. */
export function ioredis(client: IoredisLike): RedisClient {
  checkClient("ioredis", client, ["evalsha", "eval"])
  const clustered = client.isCluster === true
  const run = (call: Promise<unknown>) => (clustered ? tellUnsent(client, call) : call)
  return {
    clustered,
    runByHash: (sha, keys, args) => run(client.evalsha(sha, keys.length, ...keys, ...args)),
    runByText: (source, keys, args) => run(client.eval(source, keys.length, ...keys, ...args)),
  }
}

/**
 * Tells a call that a Cluster never sent from one whose connection broke, for both of which it has the same words: what goes
 * to a node that it is still connecting to, as it does for each with the first call, or to a client that is closed, is
 * rejected before anything can have happened. iovalkey queues the former, and tells of the latter later.
 */
function tellUnsent(client: IoredisLike, call: Promise<unknown>): Promise<unknown> {
  let atOnce = true
  const told = call.catch((error: unknown) => {
    const isClosed = error instanceof Error && error.message === "Connection is closed."
    if (!atOnce || !isClosed) throw error
    throw new Error(client.status === "end" ? CLOSED : UNCONNECTED, { cause: error })
  })
  // behind what is made of a call that was rejected by now
  soon.then(() => {
    atOnce = false
  })
  return told
}
