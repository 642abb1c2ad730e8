import type { LeaseOptions, LimiterMode, OutagePolicy } from "sluice"
import type { LimiterConfig } from "./config.js"
import { type Cursor, shown } from "./cursor.js"
import { readDuration, readPolicies } from "./read-policy.js"

type Outage = LimiterConfig["outage"]

export const limiterKeys = ["policy", "mode", "lease", "outage", "maxWait", "maxWaiters"] as const

/** Reads a limiter. What it leaves out is as `outage` of the whole file says, or as the library's defaults are. */
export function readLimiter(cursor: Cursor, outage: Outage): LimiterConfig | undefined {
  const map = cursor.map(limiterKeys)
  if (map === undefined) return undefined
  if (!map.at("policy").exists) return map.fail(`limiter ${shown(map.label)} needs a policy`)
  const policy = readPolicies(map.at("policy"))
  const options = readLimiterOptions(map, outage)
  if (policy === undefined) return undefined
  const leaky = Object.values({ policy, ...(policy as object) }).some(
    (each) => (each as { algorithm?: unknown } | null)?.algorithm === "leakyBucket",
  )
  if (leaky && options.lease !== false) {
    return map.at("lease").fail("a leakyBucket cannot be leased, because its outflow would not be even")
  }
  return { policy, ...options }
}

/** Reads everything but the policy. */
function readLimiterOptions(map: Cursor, outage: Outage): Omit<LimiterConfig, "policy"> {
  const optional = <T>(key: string, read: (cursor: Cursor) => T | undefined) =>
    map.at(key).exists ? read(map.at(key)) : undefined
  return {
    mode: optional("mode", readMode) ?? "enforce",
    lease: optional("lease", readLease) ?? false,
    outage: optional("outage", readOutage) ?? outage,
    maxWait: optional("maxWait", readDuration),
    maxWaiters: optional("maxWaiters", (cursor) => cursor.integer(1, 1_000_000)),
  }
}

function readMode(cursor: Cursor): LimiterMode | undefined {
  const { value } = cursor
  if (value === "enforce" || value === "observe") return value
  if (typeof value !== "object") {
    return cursor.fail(`mode must be enforce, observe or { enforce: share }, got ${shown(value)}`)
  }
  const share = readShare(cursor.map(["enforce"])?.at("enforce"), 0)
  return share === undefined ? undefined : { enforce: share }
}

function readLease(cursor: Cursor): boolean | LeaseOptions | undefined {
  if (typeof cursor.value === "boolean") return cursor.value
  const map = cursor.map(["time", "share"])
  if (map === undefined) return undefined
  const time = map.at("time").exists ? readDuration(map.at("time")) : undefined
  if (time !== undefined && time > 60_000) return map.at("time").fail("time must be at most 60s")
  const share = map.at("share").exists ? readShare(map.at("share"), Number.MIN_VALUE) : undefined
  return { ...(time !== undefined && { time }), ...(share !== undefined && { share }) }
}

/** Reads what happens while the store does not answer. */
export function readOutage(cursor: Cursor): Outage | undefined {
  const map = cursor.map(["deadline", "then"])
  if (map === undefined) return undefined
  const deadline = map.at("deadline").exists ? readDuration(map.at("deadline")) : undefined
  if (deadline !== undefined && deadline > 60_000)
    return map.at("deadline").fail("deadline must be at most 60s")
  const then = map.at("then").exists ? readThen(map.at("then")) : undefined
  return { ...(deadline !== undefined && { deadline }), ...(then !== undefined && { then }) }
}

function readThen(cursor: Cursor): OutagePolicy | undefined {
  const { value } = cursor
  if (value === "open" || value === "closed" || value === "throw") return value
  if (typeof value !== "object") {
    return cursor.fail(`then must be open, closed, throw or { local: share }, got ${shown(value)}`)
  }
  const local = readShare(cursor.map(["local"])?.at("local"), Number.MIN_VALUE)
  return local === undefined ? undefined : { local }
}

function readShare(cursor: Cursor | undefined, least: number): number | undefined {
  const value = cursor?.value
  if (typeof value === "number" && value >= least && value <= 1) return value
  const from = least === 0 ? "from 0 to 1" : "above 0 and at most 1"
  return cursor?.fail(`${cursor.label} must be a number ${from}, got ${shown(value)}`)
}
