import type { LineParser } from "./log-line.js"
import { parseTime } from "./parse-time.js"

/** The usual names in logs of nginx, Caddy, Traefik and common libraries. */
const timeNames = ["time", "timestamp", "ts", "@timestamp", "time_iso8601", "msec", "StartUTC", "time_local"]
const addressNames = [
  "remote_addr",
  "request.remote_ip",
  "remote_ip",
  "request.client_ip",
  "client_ip",
  "ClientHost",
  "ip",
  "address",
]

/** Reads one JSON object per line. */
export function jsonParser(time: string | undefined): LineParser {
  const timePaths = time === undefined ? timeNames : [time]
  return (line) => {
    let object: unknown
    try {
      object = JSON.parse(line)
    } catch {
      return undefined
    }
    if (typeof object !== "object" || object === null) return undefined
    const at = firstOf(object, timePaths)
    const ms = typeof at === "string" || typeof at === "number" ? parseTime(at) : Number.NaN
    if (Number.isNaN(ms)) return undefined
    return { time: ms, field: (name) => textOf(valueAt(object, name)) }
  }
}

function valueAt(object: object, name: string): unknown {
  if (name === "address") return firstOf(object, addressNames)
  if (!name.startsWith("header:")) return lookUp(object, name)
  const header = name.slice("header:".length).toLowerCase()
  for (const path of ["request.headers", "headers"]) {
    const headers = lookUp(object, path)
    if (typeof headers !== "object" || headers === null) continue
    const found = Object.entries(headers).find(([each]) => each.toLowerCase() === header)
    if (found !== undefined) return found[1]
  }
  // nginx's variable, if the format is of one's own making.
  return lookUp(object, `http_${header.replaceAll("-", "_")}`)
}

function firstOf(object: object, paths: readonly string[]): unknown {
  for (const path of paths) {
    const value = lookUp(object, path)
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

/** A field by its name, or by a path with dots. */
function lookUp(object: object, path: string): unknown {
  if (Object.hasOwn(object, path)) return (object as Record<string, unknown>)[path]
  let value: unknown = object
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function textOf(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value
  return ["string", "number", "boolean"].includes(typeof first) && first !== "-" ? String(first) : undefined
}
