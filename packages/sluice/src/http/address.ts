/** An IP address as eight groups of 16 bits. An IPv4 address is stored as IPv4-mapped, so that both notations are equal. */
export type Address = readonly number[]

/** Parses an IPv4 or IPv6 address. Undefined if the text is not one. A zone such as `%eth0` is dropped. */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(":")) return parseIPv4(text)
  const zone = text.indexOf("%")
  return parseIPv6(zone < 0 ? text : text.slice(0, zone))
}

/** Whether the bits are those of an IPv4 address: `::ffff:0:0/96`. */
export function isIPv4(address: Address): boolean {
  return address[5] === 0xffff && address.slice(0, 5).every((group) => group === 0)
}

/** The address as text: an IPv4 address whole, an IPv6 address cut to its prefix. */
export function formatAddress(address: Address, ipv6Prefix: number): string {
  if (isIPv4(address) || isNat64(address)) return formatIPv4(address)
  const text = formatIPv6(maskAddress(address, ipv6Prefix))
  return ipv6Prefix === 128 ? text : `${text}/${ipv6Prefix}`
}

/** The address with all bits behind the first `bits` cleared. */
export function maskAddress(address: Address, bits: number): Address {
  return address.map((group, i) => {
    const kept = Math.min(16, Math.max(0, bits - i * 16))
    return group & (0xffff << (16 - kept)) & 0xffff
  })
}

/** NAT64 gateways map every IPv4 client into `64:ff9b::/96`. A shorter prefix would put all of them under one key. */
function isNat64(address: Address): boolean {
  return address[0] === 0x64 && address[1] === 0xff9b && address.slice(2, 6).every((group) => group === 0)
}

function parseIPv4(text: string): Address | undefined {
  const groups = ipv4Groups(text)
  return groups && [0, 0, 0, 0, 0, 0xffff, ...groups]
}

/** Two groups from four decimal octets. A leading zero is refused, because some parsers read it as octal. */
function ipv4Groups(text: string): [number, number] | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return undefined
  const octets = match.slice(1).map(Number) as [number, number, number, number]
  if (octets.some((octet, i) => octet > 255 || String(octet) !== match[i + 1])) return undefined
  const [a, b, c, d] = octets
  return [a * 256 + b, c * 256 + d]
}

function parseIPv6(text: string): Address | undefined {
  const halves = text.split("::")
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0] as string, halves.length === 1)
  const tail = halves.length === 2 ? groupsOf(halves[1] as string, true) : []
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  return [...head, ...new Array<number>(missing).fill(0), ...tail]
}

/** Parses the groups on one side of `::`. If `last`, the final group may be an IPv4 address. */
function groupsOf(text: string, last: boolean): number[] | undefined {
  if (text === "") return []
  const groups: number[] = []
  const parts = text.split(":")
  for (const [i, part] of parts.entries()) {
    const ipv4 = last && i === parts.length - 1 ? ipv4Groups(part) : undefined
    if (ipv4 !== undefined) groups.push(...ipv4)
    else if (/^[\da-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
    if (groups.length > 8) return undefined
  }
  return groups
}

function formatIPv4(address: Address): string {
  const [high, low] = address.slice(6) as [number, number]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** RFC 5952: lower case, no leading zeros, and `::` for the first of the longest runs of two or more zero groups. */
function formatIPv6(address: Address): string {
  let [start, length] = [0, 1]
  for (let i = 0; i < 8; i += 1) {
    let end = i
    while (address[end] === 0) end += 1
    if (end - i > length) [start, length] = [i, end - i]
  }
  const hex = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(":")
  if (length < 2) return hex(address)
  return `${hex(address.slice(0, start))}::${hex(address.slice(start + length))}`
}
