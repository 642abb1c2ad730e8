import type { HeaderForm } from "sluice/http"
import type { Config, Domain, LimiterConfig, LogLevel } from "./config.js"
import { ConfigFile, type Cursor, optional, shown } from "./cursor.js"
import { ConfigError, type Problem } from "./problems.js"
import { readAddress } from "./read-address.js"
import { limiterNames, readDomain } from "./read-domain.js"
import { readLimiter, readOutage } from "./read-limiter.js"
import { readDuration } from "./read-policy.js"
import { envoyHeaders, readResponseHeaders } from "./read-response-headers.js"
import { memory, readStore } from "./read-store.js"
import { type Environment, withVariables } from "./variables.js"

export const configKeys = [
  ...["listen", "admin", "store", "outage", "limiters", "http", "log", "envoy"],
  ...["domain", "descriptors", "domains"],
] as const
const logLevels = ["debug", "info", "warn", "error", "silent"] as const
const headerForms = ["draft-11", "draft-8", "draft-7", "draft-6", "legacy"] as const

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
  /** Those that are in no file. */
  const problems: Problem[] = []
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
  if (listen?.at("http").value === false && listen.at("grpc").value === false) {
    listen.fail("listen must leave http or grpc on, or the server has nothing to do")
  }
  const http = section("http")?.map(["shutdownDelay", "drain", "headers"])
  const address = (name: "http" | "grpc") => {
    const cursor = listen?.at(name)
    return cursor?.exists ? readAddress(cursor, env) : defaults[name]
  }
  const envoy = section("envoy")?.map(["responseHeaders"])
  const domains = readDomains(roots)
  const config: Config = {
    listen: { http: address("http"), grpc: address("grpc") },
    admin: { token: readToken(section("admin"), env, (problem) => problems.push(problem)) },
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
  problems.unshift(...files.flatMap((file) => file.problems))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** A process manager does not wait longer, and timers of Node have a bound, too. */
function readShutdownTime(cursor: Cursor): number | undefined {
  const time = readDuration(cursor)
  if (time === undefined || time <= 3_600_000) return time
  return cursor.fail(`${cursor.label} must be at most 1h, got ${shown(cursor.value)}`)
}

const SHORTEST_TOKEN = 16

const SHORT_TOKEN = `token must have at least ${SHORTEST_TOKEN} characters; \`openssl rand -hex 24\` makes one`

/** Reads the token of the file, or of the environment if the file has none. */
function readToken(
  section: Cursor | undefined,
  env: Environment,
  report: (problem: Problem) => void,
): string | undefined {
  const cursor = section?.map(["token"])?.at("token")
  if (cursor?.exists) {
    const token = withVariables(cursor, env)
    return token !== undefined && token.length < SHORTEST_TOKEN ? cursor.fail(SHORT_TOKEN) : token
  }
  const token = env["SLUICE_ADMIN_TOKEN"] || undefined
  if (token !== undefined && token.length < SHORTEST_TOKEN) {
    report({ file: "SLUICE_ADMIN_TOKEN", line: 1, column: 1, message: SHORT_TOKEN })
  }
  return token
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
