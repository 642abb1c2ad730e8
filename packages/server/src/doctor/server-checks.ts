import { bytes, count } from "../cli/format.js"
import type { Info } from "./ask.js"
import { type Finding, finding } from "./finding.js"

/** The oldest Redis that the Lua library runs on, and the oldest with functions. */
const OLDEST = 6.2
const WITH_FUNCTIONS = 7

export function checkVersion(info: Info): Finding {
  const valkey = info.get("valkey_version")
  const version = valkey ?? info.get("redis_version") ?? "unknown"
  const name = `${valkey === undefined ? "Redis" : "Valkey"} ${version}`
  const number = Number(/^\d+\.\d+/.exec(version)?.[0] ?? Number.NaN)
  if (Number.isNaN(number)) return finding("version", "warning", `the version is unknown: ${name}`)
  if (number < OLDEST) {
    return finding(
      "version",
      "problem",
      `${name} is too old`,
      "Use Redis 6.2 or later, or Valkey 7.2 or later.",
    )
  }
  if (number < WITH_FUNCTIONS) {
    const fix = "Redis 7 or Valkey saves about half of the server's time per call."
    return finding("version", "warning", `${name} has no functions; Sluice uses scripts`, fix)
  }
  return finding("version", "ok", name)
}

/** An evicted key starts with a full limit. All keys of Sluice expire, so policies for volatile keys evict them too. */
export function checkMemory(info: Info): Finding {
  const policy = info.get("maxmemory_policy") ?? "unknown"
  const [most, used] = [Number(info.get("maxmemory") ?? 0), Number(info.get("used_memory") ?? 0)]
  const evicted = Number(info.get("evicted_keys") ?? 0)
  const room = most === 0 ? "no maxmemory" : `${bytes(used)} of ${bytes(most)} used`
  const fix = "Set maxmemory-policy noeviction, or give Sluice a Redis of its own."
  if (policy !== "noeviction" && most > 0) {
    const done = evicted > 0 ? `; it has evicted ${count(evicted)} keys` : ""
    const message = `maxmemory-policy ${policy} evicts keys, and an evicted key starts with a full limit${done} (${room})`
    return finding("memory", policy === "volatile-ttl" ? "warning" : "problem", message, fix)
  }
  if (policy !== "noeviction") {
    return finding(
      "memory",
      "warning",
      `maxmemory-policy ${policy} would evict keys once maxmemory is set`,
      fix,
    )
  }
  if (most > 0 && used > most * 0.8) {
    const message = `memory is nearly full: ${room}; a full server refuses to spend`
    return finding("memory", "warning", message, "Raise maxmemory.")
  }
  return finding("memory", "ok", `noeviction, ${room}`)
}

export interface PersistenceSettings {
  /** The settings `save`, `appendfsync` and `stop-writes-on-bgsave-error`, as far as they may be read. */
  readonly save: string | undefined
  readonly fsync: string | undefined
  readonly stopWrites: string | undefined
}

export function checkPersistence(info: Info, { save, fsync, stopWrites }: PersistenceSettings): Finding {
  const hasAof = info.get("aof_enabled") === "1"
  const check = "persistence"
  if (hasAof && info.get("aof_last_write_status") === "err") {
    return finding(
      check,
      "problem",
      "the last write to the append-only file failed; Redis refuses writes",
      "Free disk space.",
    )
  }
  if (info.get("rdb_last_bgsave_status") === "err" && stopWrites !== "no") {
    const fix = "Free disk space, or set stop-writes-on-bgsave-error no."
    return finding(check, "problem", "the last snapshot failed; Redis may refuse writes (MISCONF)", fix)
  }
  if (hasAof && fsync === "always") {
    return finding(
      check,
      "warning",
      "appendfsync always waits for the disk in each call",
      "Set appendfsync everysec.",
    )
  }
  if (hasAof) return finding(check, "ok", "append-only file")
  if (save === "") return finding(check, "ok", "off: after a restart every key starts with a full limit")
  return finding(check, "ok", "snapshots: after a crash, counters go back to the last one")
}

export function checkReplication(info: Info): Finding {
  const check = "replication"
  if (info.get("role") === "slave") {
    const master = `${info.get("master_host") ?? "?"}:${info.get("master_port") ?? "?"}`
    const message = `this is a replica of ${master}, which refuses writes`
    return finding(check, "problem", message, `Connect to its master, ${master}, or through Sentinel.`)
  }
  const replicas = Number(info.get("connected_slaves") ?? 0)
  const good = info.get("min_slaves_good_slaves")
  if (good !== undefined) {
    const message = `min-replicas-to-write is set, and ${good} replicas are good enough`
    if (Number(good) > 0) return finding(check, "ok", `master; ${message}`)
    const fix = "Bring the replicas back, or set min-replicas-to-write 0."
    return finding(check, "problem", `${message}: Redis may refuse writes (NOREPLICAS)`, fix)
  }
  if (replicas === 0) return finding(check, "ok", "master without replicas")
  const lags = Array.from({ length: replicas }, (_, i) =>
    Number(/lag=(\d+)/.exec(info.get(`slave${i}`) ?? "")?.[1] ?? 0),
  )
  const lag = Math.max(...lags)
  if (lag > 10) {
    const message = `a replica is ${lag} s behind; a failover would grant again what it has not seen`
    return finding(check, "warning", message, "Look at the replica's load and network.")
  }
  return finding(check, "ok", `master of ${replicas}; a failover loses the last writes`)
}

/** The state of a Cluster, from CLUSTER INFO. */
export function checkCluster(info: Info): Finding {
  const check = "cluster"
  const slots = Number(info.get("cluster_slots_ok") ?? 0)
  if (info.get("cluster_state") === "ok" && slots === 16_384) {
    return finding(check, "ok", `${info.get("cluster_size")} masters serve all slots`)
  }
  const message = `the cluster is down or not complete: ${count(slots)} of 16,384 slots are served`
  return finding(check, "problem", message, "`redis-cli --cluster check` shows which masters are missing.")
}
