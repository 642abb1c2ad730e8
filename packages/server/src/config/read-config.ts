import { isIPv6 } from "node:net"
import type { HeaderForm } from "sluice/http"
import type { Address, Config, Domain, LimiterConfig, LogLevel, StoreConfig } from "./config.js"
import { ConfigFile, type Cursor, shown } from "./cursor.js"
import { ConfigError } from "./problems.js"
import { limiterNames, readDomain } from "./read-domain.js"
import { readLimiter, readOutage } from "./read-limiter.js"
import { readDuration } from "./read-policy.js"
import { envoyHeaders, readResponseHeaders } from "./read-response-headers.js"
import { withoutPassword } from "./without-password.js"

export const configKeys = [
  ...["listen", "admin", "store", "outage", "limiters", "http", "log", "envoy"],
  ...["domain", "descriptors", "domains"],
] as const
export const storeKeys = ["type", "maxKeys", "url", "cluster", "sentinel", "prefix", "delivery"] as const
const logLevels = ["debug", "info", "warn", "error", "silent"] as const
const headerForms = ["draft-11", "draft-8", "draft-7", "draft-6", "legacy"] as const

type Environment = Readonly<Record<string, string | undefined>>

/** The texts of configuration files, by name. */
export interface ConfigSource {
  readonly name: string
  readonly text: string
}

const defaults = {
  http: { host: "127.0.0.1", port: 8080 },
  grpc: { host: "127.0.0.1", port: 8081 },
}

/**
 * Reads configuration files into one configuration. A file of Envoy's ratelimit is one, as it is. Each section may be in one of the
 * files only; limiters and domains may be in all of them. Throws a {@link ConfigError} with every problem.
 */
export function readConfig(sources: readonly ConfigSource[], env: Environment = process.env): Config {
  const files = sources.map(({ name, text }) => new ConfigFile(name, text))
  const roots = files.flatMap(({ root, problems }) => {
    if (problems.length > 0) return []
    if (!root.exists) return root.fail("the file is empty") ?? []
    return root.map(configKeys) ?? []
  })
  const section = (key: string): Cursor | undefined => {
    const found = roots.map((root) => root.at(key)).filter(({ exists }) => exists)
    for (const again of found.slice(1)) again.fail(`${key} is in ${found[0]?.file.name} already`)
    return found[0]
  }
  const outage = optional(section("outage"), readOutage) ?? {}
  const listen = section("listen")?.map(["http", "grpc"])
  const http = section("http")?.map(["shutdownDelay", "drain", "headers"])
  const address = (name: "http" | "grpc") => {
    const cursor = listen?.at(name)
    return cursor?.exists ? readAddress(cursor, env) : defaults[name]
  }
  const envoy = section("envoy")?.map(["responseHeaders"])
  const domains = readDomains(roots)
  const config: Config = {
    listen: { http: address("http"), grpc: address("grpc") },
    admin: { token: readToken(section("admin"), env) },
    store: optional(section("store"), (cursor) => readStore(cursor, env)) ?? memory,
    limiters: readLimiters(roots, outage, domains),
    domains,
    envoy: { responseHeaders: optional(envoy?.at("responseHeaders"), readResponseHeaders) ?? envoyHeaders },
    http: {
      shutdownDelay: optional(http?.at("shutdownDelay"), readShutdownTime) ?? 0,
      drain: optional(http?.at("drain"), readShutdownTime) ?? 10_000,
      headers: optional(http?.at("headers"), (each) => each.choice<HeaderForm>(headerForms)) ?? "draft-11",
    },
    log: {
      level:
        optional(section("log")?.map(["level"])?.at("level"), (each) => each.choice<LogLevel>(logLevels)) ??
        "info",
    },
    outage,
  }
  const problems = files.flatMap((file) => file.problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** A process manager does not wait longer, and timers of Node have a bound, too. */
function readShutdownTime(cursor: Cursor): number | undefined {
  const time = readDuration(cursor)
  if (time === undefined || time <= 3_600_000) return time
  return cursor.fail(`${cursor.label} must be at most 1h, got ${shown(cursor.value)}`)
}

const memory: StoreConfig = { type: "memory", maxKeys: undefined }

function optional<T>(cursor: Cursor | undefined, read: (cursor: Cursor) => T | undefined): T | undefined {
  return cursor?.exists ? read(cursor) : undefined
}

/** Reads `host:port`, `:port` for all addresses, or false for no listener. */
function readAddress(cursor: Cursor, env: Environment): Address | undefined {
  if (cursor.value === false) return undefined
  const text = typeof cursor.value === "number" ? `127.0.0.1:${cursor.value}` : withVariables(cursor, env)
  const address = text === undefined ? undefined : parseAddress(text)
  return (
    address ?? cursor.fail(`${cursor.label} must be host:port, :port or false, got ${shown(cursor.value)}`)
  )
}

/** Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or `:8080` for all addresses. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain = "", port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) return undefined
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port: Number(port) } : undefined
  return { host: plain === "" || plain === "*" ? "0.0.0.0" : plain, port: Number(port) }
}

const SHORTEST_TOKEN = 16

function readToken(section: Cursor | undefined, env: Environment): string | undefined {
  const cursor = section?.map(["token"])?.at("token")
  const fromEnv = env["SLUICE_ADMIN_TOKEN"]
  if (!cursor?.exists) return fromEnv === "" ? undefined : fromEnv
  const token = withVariables(cursor, env)
  if (token !== undefined && token.length < SHORTEST_TOKEN) {
    return cursor.fail(
      `token must have at least ${SHORTEST_TOKEN} characters; \`openssl rand -hex 24\` makes one`,
    )
  }
  return token
}

/** Reads a text in which `${NAME}` stands for a variable of the environment. */
function withVariables(cursor: Cursor, env: Environment): string | undefined {
  const text = cursor.text()
  return text?.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = env[name]
    if (value === undefined) cursor.fail(`the variable ${name} is not set in the environment`)
    return value ?? "unset"
  })
}

function readStore(cursor: Cursor, env: Environment): StoreConfig | undefined {
  if (typeof cursor.value === "string") {
    const text = withVariables(cursor, env)
    if (text === undefined || text === "memory") return memory
    return { type: "redis", servers: { url: checkUrl(cursor, text) }, prefix: undefined, delivery: undefined }
  }
  const map = cursor.map(storeKeys)
  if (map === undefined) return undefined
  const type = map.at("type").exists
    ? map.at("type").choice(["memory", "redis"] as const)
    : map.at("maxKeys").exists
      ? "memory"
      : "redis"
  const forType = { memory: ["maxKeys"], redis: ["url", "cluster", "sentinel", "prefix", "delivery"] }
  for (const [key] of map.entries()) {
    if (key === "type" || type === undefined || forType[type].includes(key)) continue
    map.failAt(key, `a store of type ${type} has no ${key}`)
  }
  if (type === undefined) return undefined
  if (type === "memory") {
    return { type, maxKeys: optional(map.at("maxKeys"), (each) => each.integer(1, 2 ** 31)) }
  }
  const servers = readServers(map, env)
  const prefix = optional(map.at("prefix"), (each) => each.text())
  const delivery = optional(map.at("delivery"), (each) => each.choice(["function", "script"] as const))
  return servers && { type, servers, prefix, delivery }
}

type Servers = Extract<StoreConfig, { type: "redis" }>["servers"]

function readServers(map: Cursor, env: Environment): Servers | undefined {
  const [url, cluster, sentinel] = [map.at("url"), map.at("cluster"), map.at("sentinel")]
  const given = [url, cluster, sentinel].filter(({ exists }) => exists)
  if (given.length !== 1) return map.fail("a Redis store needs one of url, cluster and sentinel")
  if (url.exists) {
    const text = withVariables(url, env)
    return text === undefined ? undefined : { url: checkUrl(url, text) }
  }
  if (cluster.exists) {
    const nodes = cluster.list()?.map((each) => checkUrl(each, withVariables(each, env) ?? ""))
    return nodes?.length === 0
      ? cluster.fail("cluster needs the address of at least one server")
      : nodes && { cluster: nodes }
  }
  const fields = sentinel.map(["name", "nodes", "password", "sentinelPassword"])
  const name = fields?.at("name").exists
    ? fields.at("name").text()
    : sentinel.fail("sentinel needs the name of its master")
  const nodes = fields?.at("nodes").exists
    ? fields
        .at("nodes")
        .list()
        ?.map((each) => readAddress(each, env))
    : sentinel.fail("sentinel needs nodes, a list of host:port")
  if (fields === undefined || name === undefined || nodes === undefined) return undefined
  const secret = (key: string) => optional(fields.at(key), (each) => withVariables(each, env))
  const [password, sentinelPassword] = [secret("password"), secret("sentinelPassword")]
  return {
    sentinel: { name, nodes: nodes.filter((node) => node !== undefined), password, sentinelPassword },
  }
}

function checkUrl(cursor: Cursor, text: string): string {
  const problem = redisUrlProblem(text)
  if (problem !== undefined) cursor.fail(`${cursor.label} ${problem}, got ${shown(withoutPassword(text))}`)
  return text
}

/** What is wrong with the URL of a Redis, if anything. */
export function redisUrlProblem(text: string): string | undefined {
  if (!/^rediss?:\/\/[^/]/.test(text) || !URL.canParse(text)) {
    return "must be a URL such as redis://localhost:6379"
  }
  const { search, pathname } = new URL(text)
  if (search !== "") return "must have no query, because it could make the client send calls twice"
  return /^\/?\d*$/.test(pathname) ? undefined : "must have the number of a database as its path, or none"
}

function readLimiters(
  roots: readonly Cursor[],
  outage: LimiterConfig["outage"],
  domains: ReadonlyMap<string, Domain>,
): Map<string, LimiterConfig> {
  const limiters = new Map<string, LimiterConfig>()
  const taken = new Set([...domains.values()].flatMap(({ descriptors }) => descriptors.flatMap(limiterNames)))
  for (const root of roots) {
    const section = root.at("limiters")
    if (!section.exists) continue
    for (const [name, cursor] of section.map()?.entries() ?? []) {
      if (name === "" || name.length > 256)
        section.failAt(name, "the name of a limiter has 1 to 256 characters")
      if (limiters.has(name)) section.failAt(name, `limiter ${shown(name)} is there twice`)
      if (taken.has(name)) {
        section.failAt(name, `limiter ${shown(name)} has the name of a descriptor; choose another name`)
      }
      const limiter = readLimiter(cursor, outage)
      if (limiter !== undefined) limiters.set(name, limiter)
    }
  }
  return limiters
}

function readDomains(roots: readonly Cursor[]): Map<string, Domain> {
  const domains = new Map<string, Domain>()
  const add = (cursor: Cursor) => {
    const domain = readDomain(cursor)
    if (domain === undefined) return
    if (domains.has(domain.name)) cursor.at("domain").fail(`domain ${shown(domain.name)} is there twice`)
    domains.set(domain.name, domain)
  }
  for (const root of roots) {
    if (root.at("domain").exists || root.at("descriptors").exists) add(root)
    const list = root.at("domains")
    if (!list.exists) continue
    for (const each of list.list() ?? []) if (each.map(["domain", "descriptors"])) add(each)
  }
  return domains
}
