import { setTimeout as sleep } from "node:timers/promises"
import { Cluster, Redis } from "ioredis"
import { ioredisClusterSettings, ioredisSettings } from "sluice/redis"
import { type Asked, ask, type Info, isForbidden, parseInfo, setting } from "./ask.js"
import { checkClientSettings, checkConnectedClients } from "./client-check.js"
import { examineCalls } from "./examine-calls.js"
import { type Finding, finding } from "./finding.js"
import { checkClock } from "./measure.js"
import {
  checkCluster,
  checkMemory,
  checkPersistence,
  checkReplication,
  checkVersion,
} from "./server-checks.js"
import { unreachable } from "./unreachable.js"

export interface Examination {
  /** Whether the server answered at all. */
  readonly isReachable: boolean
  readonly findings: readonly Finding[]
}

/** Milliseconds after which a connection or a call is given up. */
const TIMEOUT = 5_000

/** Examines a Redis or Valkey. It leaves nothing behind: keys of its own expire within seconds, and no library is loaded. */
export async function examine(url: string, prefix = "sluice"): Promise<Examination> {
  const errors: string[] = []
  const settings = checkClientSettings(optionsIn(url))
  const client = new Redis(withoutSettings(url), {
    ...ioredisSettings,
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: TIMEOUT,
    commandTimeout: TIMEOUT,
    retryStrategy: () => null,
  })
  client.on("error", ({ message }) => errors.push(message))
  try {
    const failed = await client.connect().then(
      () => undefined,
      (error: Error) => errors[0] ?? error.message,
    )
    const pong = failed === undefined ? await ask(client, "PING") : { error: failed }
    const refused = [pong.error ?? "", ...errors].find((each) => /NOAUTH|WRONGPASS|AUTH failed/i.test(each))
    if (refused !== undefined) {
      const fix = "Put the user and the password into the URL: redis://user:password@host:6379."
      return { isReachable: true, findings: [finding("connection", "problem", refused, fix)] }
    }
    // The right to PING is not needed for decisions.
    if (pong.error !== undefined && !isForbidden(pong.error)) {
      return { isReachable: false, findings: [unreachable(url, errors[0] ?? pong.error)] }
    }
    return { isReachable: true, findings: [settings, ...(await examineConnected(client, prefix))] }
  } finally {
    client.disconnect()
  }
}

/** The options that a client of this URL has, whose query wins over the settings of Sluice. */
function optionsIn(url: string): Readonly<Record<string, unknown>> {
  return { ...new Redis(url, { ...ioredisSettings, lazyConnect: true }).options }
}

/** The examination itself never replays a call. */
function withoutSettings(url: string): string {
  const safe = new URL(url)
  for (const name of Object.keys(ioredisSettings)) safe.searchParams.delete(name)
  return safe.href
}

async function examineConnected(client: Redis, prefix: string): Promise<Finding[]> {
  const { value, error } = await ask(client, "INFO")
  const info = value === undefined ? undefined : parseInfo(String(value))
  const clients = await checkConnectedClients(client)
  if (info === undefined) {
    clients.push(finding("server", "skipped", `INFO failed: ${error}`, "Run doctor as an administrator."))
  }
  if (info?.get("cluster_enabled") === "1")
    return [...clients, ...(await examineCluster(client, info, prefix))]
  const isReplica = info?.get("role") === "slave"
  return [
    ...clients,
    ...(await examineNode(client, info)),
    ...(await examineCalls(client, [client], { prefix, isReplica })),
  ]
}

async function examineCluster(client: Redis, info: Info, prefix: string): Promise<Finding[]> {
  const { value, error } = await ask(client, "CLUSTER", "INFO")
  if (value === undefined) return [finding("cluster", "problem", `CLUSTER INFO failed: ${error}`)]
  const state = checkCluster(parseInfo(String(value)))
  // The client for all nodes connects to a complete cluster only.
  if (state.level !== "ok") return [state, ...(await examineNode(client, info))]
  const cluster = await connectCluster(client)
  try {
    const masters = cluster.nodes("master")
    const findings = [state]
    for (const node of masters) {
      const { host, port } = node.options
      const own = await examineNode(node, await infoOf(node))
      findings.push(...own.map((each) => ({ ...each, message: `${host}:${port}: ${each.message}` })))
    }
    return [...findings, ...(await examineCalls(cluster, masters, { prefix, isReplica: false }))]
  } finally {
    cluster.disconnect()
  }
}

async function infoOf(node: Asked): Promise<Info | undefined> {
  const { value } = await ask(node, "INFO")
  return value === undefined ? undefined : parseInfo(String(value))
}

/** A client for all nodes, with the user and password of the first one. */
async function connectCluster({ options }: Redis): Promise<Cluster> {
  const { host = "localhost", port = 6_379, username, password, tls } = options
  const cluster = new Cluster([{ host, port }], {
    ...ioredisClusterSettings,
    lazyConnect: true,
    clusterRetryStrategy: () => null,
    redisOptions: {
      ...ioredisSettings,
      username,
      password,
      tls,
      connectTimeout: TIMEOUT,
      commandTimeout: TIMEOUT,
    } as object,
  })
  cluster.on("error", () => {})
  // ioredis leaves the promise open if the cluster fails meanwhile.
  await Promise.race([cluster.connect().catch(() => {}), sleep(TIMEOUT, undefined, { ref: false })])
  return cluster
}

/** Everything that is true of one server. */
async function examineNode(node: Asked, info: Info | undefined): Promise<Finding[]> {
  const clock = await checkClock(node)
  if (info === undefined) return [clock]
  const [save, fsync, stopWrites] = await Promise.all(
    ["save", "appendfsync", "stop-writes-on-bgsave-error"].map((name) => setting(node, name)),
  )
  return [
    checkVersion(info),
    checkMemory(info),
    checkPersistence(info, { save, fsync, stopWrites }),
    checkReplication(info),
    clock,
  ]
}
