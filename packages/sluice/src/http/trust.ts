import { shown } from "../errors.js"
import { type Address, isIPv4, maskAddress, parseAddress } from "./address.js"
import { invalidOption } from "./invalid-option.js"

/**
 * Which hops are your own proxies: a number of hops from the socket, or their addresses as CIDR blocks. `"loopback"`,
 * `"linklocal"` and `"uniquelocal"` are names for the usual blocks.
 */
export type TrustProxy = false | number | string | readonly string[]

/** Whether a hop is trusted. Hop 0 is the socket's peer, whose address may be unknown. */
export type Trust = (address: Address | undefined, hop: number) => boolean

const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
}

/** Compiles the option `trustProxy`. */
export function trustOf(value: TrustProxy): Trust {
  if (value === false) return () => false
  if (typeof value === "number") return hops(value)
  const list = typeof value === "string" ? value.split(",") : value
  if (!Array.isArray(list) || list.length === 0) {
    throw invalidOption(
      `trustProxy must be false, a number of hops, or a list of CIDR blocks, got ${shown(value)}`,
    )
  }
  const blocks = list.flatMap((item: unknown) => {
    if (typeof item !== "string")
      throw invalidOption(`trustProxy lists CIDR blocks as strings, got ${shown(item)}`)
    const text = item.trim()
    return (Object.hasOwn(named, text) ? (named[text] as readonly string[]) : [text]).map(parseBlock)
  })
  return (address) => address !== undefined && blocks.some((block) => contains(block, address))
}

interface Block {
  readonly base: Address
  readonly bits: number
  readonly ipv4: boolean
}

function hops(count: number): Trust {
  if (Number.isInteger(count) && count >= 0 && count <= 100) return (_, hop) => hop < count
  throw invalidOption(`trustProxy must be from 0 to 100 hops, got ${shown(count)}`)
}

function contains({ base, bits, ipv4 }: Block, address: Address): boolean {
  // Some IPv6 blocks contain the IPv4-mapped range. They must not trust all of IPv4.
  if (isIPv4(address) !== ipv4) return false
  const masked = maskAddress(address, bits)
  return base.every((group, i) => group === masked[i])
}

function parseBlock(text: string): Block {
  const [, host = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = host.includes("%") ? undefined : parseAddress(host)
  if (address === undefined) {
    throw invalidOption(`trustProxy must list CIDR blocks such as "10.0.0.0/8", got ${shown(text)}`)
  }
  const ipv4 = isIPv4(address)
  const offset = host.includes(":") ? 0 : 96
  const bits = prefix === undefined ? 128 : Number(prefix) + offset
  if (bits > 128) throw invalidOption(`the prefix of ${shown(text)} is too long`)
  if (ipv4 && bits < 96) {
    throw invalidOption(
      `${shown(text)} has an IPv4 prefix on an IPv6 address and would trust all of IPv4. Write it as IPv4`,
    )
  }
  if (bits === (ipv4 ? 96 : 0))
    throw invalidOption(`${shown(text)} trusts everybody. List the addresses of your proxies`)
  return { base: maskAddress(address, bits), bits, ipv4 }
}
