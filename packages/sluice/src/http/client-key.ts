import { checkFields, shown } from "../errors.js"
import { type Address, formatAddress, parseAddress } from "./address.js"
import { elementsFromRight, forwardedHost, hostOf } from "./forwarded.js"
import { invalidOption } from "./invalid-option.js"
import type { HttpRequest } from "./request.js"
import { type TrustProxy, trustOf } from "./trust.js"

export interface ClientKeyOptions {
  /** Which hops in front of this server are your own proxies. Default: `false`, none. */
  readonly trustProxy?: TrustProxy | undefined
  /** The header in which those proxies name the client. Default: `"x-forwarded-for"`. */
  readonly header?: string | undefined
  /** How many bits of an IPv6 address identify a client. Default: 64, because a subscriber gets a /64 or more. */
  readonly ipv6Prefix?: number | undefined
  /** Receives each kind of warning once. Default: `console.warn`. */
  readonly onWarning?: ((message: string) => void) | undefined
}

/** Returns the key of a request. The first argument is the framework's own request, the second its common form. */
export type ClientKey = (request: unknown, http: HttpRequest) => string

/** Clients without an address share this key. */
const UNKNOWN = "unknown"
/** How many socket addresses a `clientKey` remembers with their keys. */
const MOST_REMEMBERED = 1_000

/** Makes a function that returns the address of the client: `key: clientKey({ trustProxy: 1 })`. */
export function clientKey(options: ClientKeyOptions = {}): ClientKey {
  checkFields("INVALID_OPTION", "clientKey", options, ["trustProxy", "header", "ipv6Prefix", "onWarning"])
  const { trustProxy = false, ipv6Prefix = 64 } = options
  const trusted = trustOf(trustProxy)
  const header = headerName(options.header ?? "x-forwarded-for")
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 16 || ipv6Prefix > 128) {
    throw invalidOption(`ipv6Prefix must be an integer from 16 to 128, got ${shown(ipv6Prefix)}`)
  }
  const readHost = header === "forwarded" ? forwardedHost : hostOf
  const warn = warnOnce(options.onWarning)

  /** Walks from the socket to the left while hops are trusted. An unreadable element ends the walk at the hop that wrote it. */
  const clientOf = (http: HttpRequest): Address | undefined => {
    let client = http.address === undefined ? undefined : parseAddress(http.address)
    if (!trusted(client, 0)) return client
    const value = http.header(header)
    if (value === undefined) return client
    let hop = 0
    for (const element of elementsFromRight(value)) {
      const next = parseAddress(readHost(element))
      if (next === undefined) return client
      client = next
      hop += 1
      if (!trusted(client, hop)) return client
    }
    return client
  }

  const keyOf = (http: HttpRequest): string | undefined => {
    const client = clientOf(http)
    return client === undefined ? undefined : formatAddress(client, ipv6Prefix)
  }

  // Reading and writing an address takes microseconds, and a connection brings many requests from one address.
  const remembered = new Map<string, string | undefined>()
  const keyOfSocket = (http: HttpRequest): string | undefined => {
    const { address } = http
    if (address === undefined) return undefined
    const known = remembered.get(address)
    if (known !== undefined) return known
    const key = keyOf(http)
    if (remembered.size >= MOST_REMEMBERED) remembered.clear()
    remembered.set(address, key)
    return key
  }

  return (_, http) => {
    if (trustProxy === false) warnOfProxy(http, warn)
    const key = trustProxy === false ? keyOfSocket(http) : keyOf(http)
    if (key !== undefined) return key
    warn("A request has no client address, so such requests share one key. Set `key` to tell clients apart.")
    return UNKNOWN
  }
}

function warnOfProxy(http: HttpRequest, warn: (message: string) => void): void {
  if (http.header("x-forwarded-for") === undefined && http.header("forwarded") === undefined) return
  warn(
    "A request carries X-Forwarded-For or Forwarded, but no proxy is trusted, so the key is the address of the socket. " +
      "Behind a proxy set trustProxy, for example clientKey({ trustProxy: 1 }).",
  )
}

function warnOnce(onWarning: unknown = (message: string) => console.warn(`sluice: ${message}`)) {
  if (typeof onWarning !== "function")
    throw invalidOption(`onWarning must be a function, got ${shown(onWarning)}`)
  const warned = new Set<string>()
  return (message: string) => {
    if (warned.has(message)) return
    warned.add(message)
    onWarning(message)
  }
}

function headerName(value: unknown): string {
  if (typeof value === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(value)) return value.toLowerCase()
  throw invalidOption(`header must be the name of a header, got ${shown(value)}`)
}
