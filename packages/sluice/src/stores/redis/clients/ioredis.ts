import { microtask } from "../../../deferred.js"
import { checkClient, type RedisClient } from "../client.js"
import { CLOSED, UNCONNECTED } from "../outcome.js"

/** The part of an ioredis or iovalkey `Redis` or `Cluster` that is used. */
export interface IoredisLike {
  readonly isCluster?: boolean
  /** `"end"` once it is closed for good. */
  readonly status?: string
  /** The settings that it was made with. */
  readonly options?: object & { readonly enableAutoPipelining?: boolean | undefined }
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
  fcall(name: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>
  call(command: string, ...args: string[]): Promise<unknown>
  nodes?(role: "master"): Pick<IoredisLike, "call">[]
}

/**
 * Settings of a `Redis` of ioredis or iovalkey with which it never sends a call twice, and fails at once without a
 * connection: `new Redis({ ...ioredisSettings, host })`.
 */
export const ioredisSettings = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
} as const

/** The same for their `Cluster`: `new Cluster(nodes, ioredisClusterSettings)`. */
export const ioredisClusterSettings = {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  redisOptions: ioredisSettings,
} as const

/** Each warning is given once per process. */
const warned = new Set<string>()

/** Warns of a client that sends again what may have run: a cost would be spent twice. */
function warnOfResending({ options = {} }: IoredisLike, clustered: boolean): void {
  const settings = options as { retryDelayOnFailover?: unknown; autoResendUnfulfilledCommands?: unknown }
  const isSafe = clustered
    ? settings.retryDelayOnFailover === 0
    : settings.autoResendUnfulfilledCommands === false
  // something without options is a stand-in, no client of these libraries
  if (isSafe || Object.keys(options).length === 0) return
  const make = clustered
    ? "new Cluster(nodes, { ...ioredisClusterSettings, … })"
    : "new Redis({ ...ioredisSettings, … })"
  if (warned.has(make)) return
  warned.add(make)
  process.emitWarning(
    `This client sends a call again when its connection breaks, so that its cost may be spent twice. Create it with ${make}, from "sluice/redis". See docs/redis.md.`,
    { type: "SluiceWarning", code: "SLUICE_CALLS_TWICE" },
  )
}

/** Lets a store use a client of ioredis or iovalkey, single, Cluster or Sentinel. */
export function ioredis(client: IoredisLike): RedisClient {
  checkClient("ioredis", client, ["evalsha", "eval", "fcall", "call"])
  const methods = { FCALL: "fcall", EVALSHA: "evalsha", EVAL: "eval" } as const
  const clustered = client.isCluster === true
  warnOfResending(client, clustered)
  const direct = withoutAutoPipelining(client)
  return {
    clustered,
    run(command, script, keys, args) {
      const call = direct[methods[command]](script, keys.length, ...keys, ...args)
      return clustered ? explainUnsent(client, call) : call
    },
    load(library) {
      const nodes = client.nodes?.("master") ?? [direct]
      return Promise.all(nodes.map((node) => node.call("FUNCTION", "LOAD", library)))
    },
    time: () => direct.call("TIME"),
  }
}

/**
 * ioredis sends one auto-pipeline at a time, which would halve our throughput: our calls are batches already. So the commands are
 * built on an object that has auto-pipelining off, and sent by the client itself.
 */
function withoutAutoPipelining(client: IoredisLike): IoredisLike {
  const { options } = client
  if (options?.enableAutoPipelining !== true) return client
  const { sendCommand } = client as unknown as { sendCommand(command: unknown): Promise<unknown> }
  return Object.create(client, {
    options: { value: { ...options, enableAutoPipelining: false } },
    sendCommand: { value: (command: unknown) => sendCommand.call(client, command) },
  }) as IoredisLike
}

/**
 * Tells a call that a Cluster never sent from one whose connection broke: ioredis reports both as "Connection is closed.". A call
 * to a node that is still connecting, or on a closed client, is rejected before anything can have been sent.
 */
function explainUnsent(client: IoredisLike, call: Promise<unknown>): Promise<unknown> {
  let rejectedAtOnce = true
  const explained = call.catch((error: unknown) => {
    const isClosed = error instanceof Error && error.message === "Connection is closed."
    if (!rejectedAtOnce || !isClosed) throw error
    throw new Error(client.status === "end" ? CLOSED : UNCONNECTED, { cause: error })
  })
  // The handler above runs before this one if the call is already rejected.
  microtask.then(() => {
    rejectedAtOnce = false
  })
  return explained
}
