import { isIPv6 } from "node:net"
import type { Address } from "./config.js"
import { type Cursor, shown } from "./cursor.js"
import { type Environment, withVariables } from "./variables.js"

/** Reads `host:port`, `:port` for all IPv4 addresses, or false for no listener. */
export function readAddress(cursor: Cursor, env: Environment): Address | undefined {
  if (cursor.value === false) return undefined
  const text = typeof cursor.value === "number" ? `127.0.0.1:${cursor.value}` : withVariables(cursor, env)
  const address = text === undefined ? undefined : parseAddress(text)
  return (
    address ?? cursor.fail(`${cursor.label} must be host:port, :port or false, got ${shown(cursor.value)}`)
  )
}

/** Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or `:8080` for all IPv4 addresses, or `[::]:8080` for IPv6 and IPv4. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain = "", port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) return undefined
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port: Number(port) } : undefined
  return { host: plain === "" || plain === "*" ? "0.0.0.0" : plain, port: Number(port) }
}
