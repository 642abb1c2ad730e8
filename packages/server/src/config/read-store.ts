import type { StoreConfig } from "./config.js"
import { type Cursor, optional, shown } from "./cursor.js"
import { readAddress } from "./read-address.js"
import { type Environment, withVariables } from "./variables.js"
import { withoutPassword } from "./without-password.js"

export const storeKeys = ["type", "maxKeys", "url", "cluster", "sentinel", "prefix", "delivery"] as const

/** The store without a configuration. */
export const memory: StoreConfig = { type: "memory", maxKeys: undefined }

export function readStore(cursor: Cursor, env: Environment): StoreConfig | undefined {
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
  const prefix = optional(map.at("prefix"), readPrefix)
  const delivery = optional(map.at("delivery"), (each) => each.choice(["function", "script"] as const))
  return servers && { type, servers, prefix, delivery }
}

/** Braces mark the part of a key that chooses the slot in a Cluster, so the store refuses them in its prefix. */
function readPrefix(cursor: Cursor): string | undefined {
  const text = cursor.text()
  if (text === undefined || !/[{}]/.test(text)) return text
  return cursor.fail(`prefix must be a text without braces, got ${shown(text)}`)
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
  return readSentinel(sentinel, env)
}

function readSentinel(cursor: Cursor, env: Environment): Servers | undefined {
  const fields = cursor.map(["name", "nodes", "password", "sentinelPassword"])
  if (fields === undefined) return undefined
  const [name, list] = [fields.at("name"), fields.at("nodes")]
  const master = name.exists ? name.text() : cursor.fail("sentinel needs the name of its master")
  const cursors = list.exists ? list.list() : cursor.fail("sentinel needs nodes, a list of host:port")
  // `false` is the address of no listener.
  if (cursors?.every(({ value }) => value === false))
    list.fail("nodes needs the address of at least one Sentinel")
  const nodes = cursors?.map((each) => readAddress(each, env)).filter((node) => node !== undefined)
  if (master === undefined || nodes === undefined) return undefined
  const secret = (key: string) => optional(fields.at(key), (each) => withVariables(each, env))
  const [password, sentinelPassword] = [secret("password"), secret("sentinelPassword")]
  return { sentinel: { name: master, nodes, password, sentinelPassword } }
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
