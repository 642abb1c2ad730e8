import { describe, expect, test, vi } from "vitest"
import { type ClientKeyOptions, clientKey } from "./client-key.js"
import { behind } from "./presets.js"
import type { HttpRequest } from "./request.js"

/** A request from an address, with header lines as they arrive. */
function request(address: string | undefined, headers: Record<string, string | string[]> = {}): HttpRequest {
  return {
    address,
    header: (name) => {
      const lines = headers[name]
      return Array.isArray(lines) ? lines.join(", ") : lines
    },
  }
}

const quiet = { onWarning: () => {} }
const keyOf = (options: ClientKeyOptions, http: HttpRequest) =>
  clientKey({ ...quiet, ...options })(undefined, http)

describe("the key of an address without a proxy", () => {
  test.each([
    // IPv4
    ["1.2.3.4", "1.2.3.4"],
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["127.0.0.1", "127.0.0.1"],
    // IPv4-mapped, in every notation
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::FFFF:1.2.3.4", "1.2.3.4"],
    ["::ffff:102:304", "1.2.3.4"],
    ["0:0:0:0:0:ffff:102:304", "1.2.3.4"],
    ["0000:0000:0000:0000:0000:ffff:0102:0304", "1.2.3.4"],
    ["0::ffff:1.2.3.4", "1.2.3.4"],
    ["::0:ffff:1.2.3.4", "1.2.3.4"],
    ["0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"],
    ["::ffff:127.0.0.1%eth0", "127.0.0.1"],
    ["::ffff:0:0", "0.0.0.0"],
    // IPv6 is cut to /64
    ["2001:db8::1", "2001:db8::/64"],
    ["2001:DB8::1", "2001:db8::/64"],
    ["2001:db8:1234:5678:9abc:def0:1234:5678", "2001:db8:1234:5678::/64"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::/64"],
    ["2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::/64"],
    ["2001:db8:0:1::", "2001:db8:0:1::/64"],
    ["2001:0:0:1::2", "2001:0:0:1::/64"],
    ["::1", "::/64"],
    ["::", "::/64"],
    ["::1.2.3.4", "::/64"],
    ["fe80::1%eth0", "fe80::/64"],
    ["fe80::1%", "fe80::/64"],
    ["1:2:3:4:5:6:7:8", "1:2:3:4::/64"],
    ["1::8", "1::/64"],
    ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
    ["::2:3:4:5:6:7:8", "0:2:3:4::/64"],
    ["::fffe:1.2.3.4", "::/64"],
    ["::ffff:0:1.2.3.4", "::/64"],
    // A NAT64 gateway puts every IPv4 client into one /96
    ["64:ff9b::1.2.3.4", "1.2.3.4"],
    ["64:ff9b::102:304", "1.2.3.4"],
    ["64:ff9b:1::1.2.3.4", "64:ff9b:1::/64"],
    // No address
    [undefined, "unknown"],
    ["", "unknown"],
    ["localhost", "unknown"],
    ["/run/app.sock", "unknown"],
    ["1.2.3", "unknown"],
    ["1.2.3.4.5", "unknown"],
    ["1.2.3.256", "unknown"],
    ["1.2.3.04", "unknown"],
    ["0x1.2.3.4", "unknown"],
    ["1.2.3.4 ", "unknown"],
    ["١.2.3.4", "unknown"],
    ["1:2:3:4:5:6:7", "unknown"],
    ["1:2:3:4:5:6:7:8:9", "unknown"],
    ["1::2::3", "unknown"],
    [":::", "unknown"],
    [":1", "unknown"],
    ["1:", "unknown"],
    ["1:2:3:4:5:6:7:8::", "unknown"],
    ["12345::", "unknown"],
    ["g::", "unknown"],
    ["::1.2.3.256", "unknown"],
    ["1.2.3.4::", "unknown"],
    ["::1.2.3.4:5", "unknown"],
    ["1:2:3:4:5:6:7:1.2.3.4", "unknown"],
  ])("of %s is %s", (address, expected) => {
    expect(keyOf({}, request(address))).toBe(expected)
  })
})

describe("the key of an IPv6 address", () => {
  const address = "2001:db8:1234:5678:9abc:def0:1234:5678"
  test.each([
    [128, address],
    [127, "2001:db8:1234:5678:9abc:def0:1234:5678/127"],
    [64, "2001:db8:1234:5678::/64"],
    [60, "2001:db8:1234:5670::/60"],
    [56, "2001:db8:1234:5600::/56"],
    [48, "2001:db8:1234::/48"],
    [47, "2001:db8:1234::/47"],
    [32, "2001:db8::/32"],
    [16, "2001::/16"],
  ])("cut to /%d is %s", (ipv6Prefix, expected) => {
    expect(keyOf({ ipv6Prefix }, request(address))).toBe(expected)
  })
})

describe("the key behind proxies", () => {
  const xff = (value: string | string[]) => ({ "x-forwarded-for": value })
  const forwarded = (value: string | string[]) => ({ forwarded: value })
  const rfc7239 = { trustProxy: 1, header: "forwarded" } as const
  const cidr = { trustProxy: ["10.0.0.0/8", "2001:db8:ffff::/48"] } as const

  test.each<[string, ClientKeyOptions, HttpRequest, string]>([
    // By default no proxy is trusted
    ["nobody is trusted by default", {}, request("9.9.9.9", xff("1.2.3.4")), "9.9.9.9"],
    ["0 hops trust nobody", { trustProxy: 0 }, request("9.9.9.9", xff("1.2.3.4")), "9.9.9.9"],
    // Hops
    ["one hop: the last entry", { trustProxy: 1 }, request("10.0.0.1", xff("1.2.3.4")), "1.2.3.4"],
    [
      "one hop: what stands left is spoofed",
      { trustProxy: 1 },
      request("10.0.0.1", xff("6.6.6.6, 1.2.3.4")),
      "1.2.3.4",
    ],
    [
      "two hops: the last but one",
      { trustProxy: 2 },
      request("10.0.0.1", xff("6.6.6.6, 1.2.3.4, 8.8.8.8")),
      "1.2.3.4",
    ],
    ["two hops, one entry: that one", { trustProxy: 2 }, request("10.0.0.1", xff("1.2.3.4")), "1.2.3.4"],
    ["one hop, no header: the socket", { trustProxy: 1 }, request("10.0.0.1"), "10.0.0.1"],
    ["one hop, empty header: the socket", { trustProxy: 1 }, request("10.0.0.1", xff("")), "10.0.0.1"],
    [
      "one hop, no socket address: the entry",
      { trustProxy: 1 },
      request(undefined, xff("1.2.3.4")),
      "1.2.3.4",
    ],
    ["one hop, no socket address, junk", { trustProxy: 1 }, request(undefined, xff("junk")), "unknown"],
    [
      "several header lines are one list",
      { trustProxy: 1 },
      request("10.0.0.1", xff(["6.6.6.6", "1.2.3.4"])),
      "1.2.3.4",
    ],
    [
      "several lines over two hops",
      { trustProxy: 2 },
      request("10.0.0.1", xff(["6.6.6.6, 1.2.3.4", "8.8.8.8"])),
      "1.2.3.4",
    ],
    // Forms of an entry
    ["an entry with a port", { trustProxy: 1 }, request("10.0.0.1", xff("1.2.3.4:5678")), "1.2.3.4"],
    ["an entry in brackets", { trustProxy: 1 }, request("10.0.0.1", xff("[2001:db8::1]")), "2001:db8::/64"],
    [
      "an entry in brackets with a port",
      { trustProxy: 1 },
      request("10.0.0.1", xff("[2001:db8::1]:80")),
      "2001:db8::/64",
    ],
    ["a bare IPv6 entry", { trustProxy: 1 }, request("10.0.0.1", xff("2001:db8::1")), "2001:db8::/64"],
    ["a quoted entry", { trustProxy: 1 }, request("10.0.0.1", xff('"1.2.3.4"')), "1.2.3.4"],
    ["an entry with a zone", { trustProxy: 1 }, request("10.0.0.1", xff("fe80::1%eth0")), "fe80::/64"],
    [
      "a bracketed entry with a zone",
      { trustProxy: 1 },
      request("10.0.0.1", xff("[fe80::1%25eth0]:80")),
      "fe80::/64",
    ],
    ["a mapped entry", { trustProxy: 1 }, request("10.0.0.1", xff("::ffff:1.2.3.4")), "1.2.3.4"],
    [
      "an entry with spaces and a tab",
      { trustProxy: 1 },
      request("10.0.0.1", xff(" 6.6.6.6 ,\t1.2.3.4 ")),
      "1.2.3.4",
    ],
    ["no space after the comma", { trustProxy: 1 }, request("10.0.0.1", xff("6.6.6.6,1.2.3.4")), "1.2.3.4"],
    ["brackets around IPv4", { trustProxy: 1 }, request("10.0.0.1", xff("[1.2.3.4]")), "10.0.0.1"],
    // Junk ends the walk at the proxy that wrote it
    ["unknown", { trustProxy: 1 }, request("10.0.0.1", xff("6.6.6.6, unknown")), "10.0.0.1"],
    ["an empty last item", { trustProxy: 1 }, request("10.0.0.1", xff("6.6.6.6, ")), "10.0.0.1"],
    ["only commas", { trustProxy: 3 }, request("10.0.0.1", xff(",,,")), "10.0.0.1"],
    ["an octet above 255", { trustProxy: 1 }, request("10.0.0.1", xff("1.2.3.999")), "10.0.0.1"],
    ["a name", { trustProxy: 1 }, request("10.0.0.1", xff("evil.example")), "10.0.0.1"],
    ["a unix socket", { trustProxy: 1 }, request("10.0.0.1", xff("6.6.6.6, unix:")), "10.0.0.1"],
    ["a newline", { trustProxy: 1 }, request("10.0.0.1", xff("1.2.3.4\n6.6.6.6")), "10.0.0.1"],
    ["a very long entry", { trustProxy: 1 }, request("10.0.0.1", xff("1".repeat(10_000))), "10.0.0.1"],
    ["junk at the second hop", { trustProxy: 2 }, request("10.0.0.1", xff("junk, 8.8.8.8")), "8.8.8.8"],
    // CIDR blocks
    ["an untrusted socket", cidr, request("9.9.9.9", xff("1.2.3.4")), "9.9.9.9"],
    ["a trusted socket", cidr, request("10.1.2.3", xff("1.2.3.4")), "1.2.3.4"],
    ["a trusted socket, mapped", cidr, request("::ffff:10.1.2.3", xff("1.2.3.4")), "1.2.3.4"],
    ["a trusted IPv6 socket", cidr, request("2001:db8:ffff:1::1", xff("1.2.3.4")), "1.2.3.4"],
    ["an IPv6 socket outside", cidr, request("2001:db8:fffe::1", xff("1.2.3.4")), "2001:db8:fffe::/64"],
    ["right-most untrusted", cidr, request("10.0.0.1", xff("6.6.6.6, 1.2.3.4, 10.0.0.2")), "1.2.3.4"],
    ["all trusted: the left-most", cidr, request("10.0.0.1", xff("10.0.0.3, 10.0.0.2")), "10.0.0.3"],
    ["no socket address is not trusted", cidr, request(undefined, xff("1.2.3.4")), "unknown"],
    [
      "NAT64 of a trusted address is not trusted",
      cidr,
      request("64:ff9b::10.0.0.1", xff("6.6.6.6")),
      "10.0.0.1",
    ],
    [
      "one address without a prefix",
      { trustProxy: ["10.0.0.1"] },
      request("10.0.0.1", xff("1.2.3.4")),
      "1.2.3.4",
    ],
    ["its neighbour", { trustProxy: ["10.0.0.1"] }, request("10.0.0.2", xff("1.2.3.4")), "10.0.0.2"],
    [
      "host bits in a block are ignored",
      { trustProxy: ["10.1.2.3/8"] },
      request("10.9.9.9", xff("1.2.3.4")),
      "1.2.3.4",
    ],
    ["loopback", { trustProxy: "loopback" }, request("127.0.0.1", xff("1.2.3.4")), "1.2.3.4"],
    ["loopback, mapped", { trustProxy: "loopback" }, request("::ffff:127.0.0.1", xff("1.2.3.4")), "1.2.3.4"],
    ["loopback, IPv6", { trustProxy: "loopback" }, request("::1", xff("1.2.3.4")), "1.2.3.4"],
    ["uniquelocal", { trustProxy: "uniquelocal" }, request("172.31.0.1", xff("1.2.3.4")), "1.2.3.4"],
    ["uniquelocal ends", { trustProxy: "uniquelocal" }, request("172.32.0.1", xff("1.2.3.4")), "172.32.0.1"],
    ["linklocal", { trustProxy: "linklocal" }, request("fe80::1%eth0", xff("1.2.3.4")), "1.2.3.4"],
    [
      "a list in one string",
      { trustProxy: "loopback, 10.0.0.0/8" },
      request("10.0.0.1", xff("1.2.3.4")),
      "1.2.3.4",
    ],
    [
      "a mapped block with a prefix from 97 on",
      { trustProxy: ["::ffff:10.0.0.0/104"] },
      request("10.0.0.1", xff("1.2.3.4")),
      "1.2.3.4",
    ],
    [
      "an IPv6 block never covers IPv4",
      { trustProxy: ["::/8"] },
      request("9.9.9.9", xff("1.2.3.4")),
      "9.9.9.9",
    ],
    // RFC 7239
    ["Forwarded", rfc7239, request("10.0.0.1", forwarded("for=1.2.3.4")), "1.2.3.4"],
    ["Forwarded with a port", rfc7239, request("10.0.0.1", forwarded('for="1.2.3.4:80"')), "1.2.3.4"],
    [
      "Forwarded IPv6",
      rfc7239,
      request("10.0.0.1", forwarded('For="[2001:db8:cafe::17]:4711"')),
      "2001:db8:cafe::/64",
    ],
    [
      "Forwarded with more parameters",
      rfc7239,
      request("10.0.0.1", forwarded("by=203.0.113.43;FOR=1.2.3.4;proto=https")),
      "1.2.3.4",
    ],
    [
      "Forwarded: the last element",
      rfc7239,
      request("10.0.0.1", forwarded("for=6.6.6.6, for=1.2.3.4")),
      "1.2.3.4",
    ],
    [
      "Forwarded in two lines",
      rfc7239,
      request("10.0.0.1", forwarded(["for=6.6.6.6", "for=1.2.3.4"])),
      "1.2.3.4",
    ],
    ["Forwarded: unknown", rfc7239, request("10.0.0.1", forwarded("for=unknown")), "10.0.0.1"],
    ["Forwarded: obfuscated", rfc7239, request("10.0.0.1", forwarded("for=_hidden")), "10.0.0.1"],
    ["Forwarded without for", rfc7239, request("10.0.0.1", forwarded("proto=https")), "10.0.0.1"],
    [
      "Forwarded with two fors",
      rfc7239,
      request("10.0.0.1", forwarded("for=6.6.6.6;for=1.2.3.4")),
      "10.0.0.1",
    ],
    [
      "Forwarded: an open quote on the left",
      rfc7239,
      request("10.0.0.1", forwarded('for="6.6.6.6, for=1.2.3.4')),
      "1.2.3.4",
    ],
    [
      "Forwarded: a comma in quotes",
      rfc7239,
      request("10.0.0.1", forwarded('for=1.2.3.4;x="a, for=6.6.6.6"')),
      "1.2.3.4",
    ],
    [
      "Forwarded: an escaped quote",
      rfc7239,
      request("10.0.0.1", forwarded('for=1.2.3.4;x="a, for=6.6.6.6 \\" b"')),
      "1.2.3.4",
    ],
    [
      "Forwarded: a semicolon in quotes",
      rfc7239,
      request("10.0.0.1", forwarded('x="a;for=6.6.6.6";for=1.2.3.4')),
      "1.2.3.4",
    ],
    [
      "Forwarded is ignored where X-Forwarded-For is meant",
      { trustProxy: 1 },
      request("10.0.0.1", forwarded("for=6.6.6.6")),
      "10.0.0.1",
    ],
    [
      "X-Forwarded-For is ignored where Forwarded is meant",
      rfc7239,
      request("10.0.0.1", xff("6.6.6.6")),
      "10.0.0.1",
    ],
    // Presets
    ["one proxy", behind.oneProxy, request("10.0.0.1", xff("6.6.6.6, 1.2.3.4")), "1.2.3.4"],
    [
      "an AWS ALB that keeps the port",
      behind.awsAlb,
      request("10.0.0.1", xff("6.6.6.6, 1.2.3.4:41234")),
      "1.2.3.4",
    ],
    ["Cloudflare", behind.cloudflare, request("173.245.48.9", { "cf-connecting-ip": "1.2.3.4" }), "1.2.3.4"],
    [
      "Cloudflare by IPv6",
      behind.cloudflare,
      request("2606:4700::9", { "cf-connecting-ip": "1.2.3.4" }),
      "1.2.3.4",
    ],
    ["not Cloudflare", behind.cloudflare, request("9.9.9.9", { "cf-connecting-ip": "1.2.3.4" }), "9.9.9.9"],
    [
      "a Worker behind Cloudflare",
      behind.cloudflare,
      request("173.245.48.9", { "cf-connecting-ip": "2a06:98c0:3600::103", ...xff("6.6.6.6") }),
      "2a06:98c0:3600::/64",
    ],
    ["Vercel", behind.vercel, request(undefined, { "x-vercel-forwarded-for": "1.2.3.4" }), "1.2.3.4"],
    ["Vercel ignores X-Forwarded-For", behind.vercel, request("10.0.0.1", xff("6.6.6.6")), "10.0.0.1"],
    // Advisories
    ["CVE-2026-30827: mapped clients do not share a key", {}, request("::ffff:198.51.100.7"), "198.51.100.7"],
    ["CVE-2026-30827, by bits: hexadecimal notation", {}, request("::ffff:c633:6407"), "198.51.100.7"],
    [
      "CVE-2026-39409: a mapped address is its IPv4 address",
      { trustProxy: ["192.0.2.1"] },
      request("::ffff:192.0.2.1", xff("1.2.3.4")),
      "1.2.3.4",
    ],
    [
      "CVE-2026-24398: octets above 255 are no address",
      { trustProxy: 1 },
      request("10.0.0.1", xff("266.0.0.1")),
      "10.0.0.1",
    ],
    ["GHSA-5847-rm3g-23mw: one client, one key", {}, request("::FFFF:1.2.3.4"), "1.2.3.4"],
    [
      "CVE-2025-59152: the left-most entry is not believed",
      { trustProxy: 1 },
      request("10.0.0.1", xff("6.6.6.6, 6.6.6.7, 1.2.3.4")),
      "1.2.3.4",
    ],
    ["CVE-2026-11922: nor is any without a trusted proxy", {}, request("1.2.3.4", xff("6.6.6.6")), "1.2.3.4"],
    [
      "CVE-2026-110724: a made-up entry in front of the gateway's is no new client",
      behind.oneProxy,
      request("10.0.0.1", xff("203.0.113.77, 1.2.3.4")),
      "1.2.3.4",
    ],
    [
      "CVE-2026-23848: a made-up header on a direct connection is no new client",
      { trustProxy: "loopback" },
      request("1.2.3.4", xff("203.0.113.77")),
      "1.2.3.4",
    ],
    [
      "CVE-2026-108162: a made-up header line of its own is no new client",
      { trustProxy: ["10.0.0.0/8"] },
      request("10.0.0.1", xff(["203.0.113.77", "1.2.3.4"])),
      "1.2.3.4",
    ],
    [
      "CVE-2026-90711: a mapped block trusts only its IPv4 block",
      { trustProxy: ["::ffff:10.0.0.0/104"] },
      request("11.0.0.1", xff("6.6.6.6")),
      "11.0.0.1",
    ],
  ])("%s", (_, options, http, expected) => {
    expect(keyOf(options, http)).toBe(expected)
  })
})

describe("an option of clientKey that is invalid or trusts too much throws", () => {
  test.each<[unknown, RegExp]>([
    [{ trustProxy: true }, /trustProxy must be false, a number of hops, or a list/],
    [{ trustProxy: -1 }, /from 0 to 100 hops/],
    [{ trustProxy: 1.5 }, /from 0 to 100 hops/],
    [{ trustProxy: Number.POSITIVE_INFINITY }, /from 0 to 100 hops/],
    [{ trustProxy: [] }, /a list of CIDR blocks/],
    [{ trustProxy: [7] }, /as strings, got 7/],
    [{ trustProxy: ["10.0.0.0/33"] }, /prefix of "10.0.0.0\/33" is too long/],
    [{ trustProxy: ["2001:db8::/129"] }, /too long/],
    [{ trustProxy: ["10.0.0.0/255.0.0.0"] }, /must list CIDR blocks/],
    [{ trustProxy: ["10.0.0.0/"] }, /must list CIDR blocks/],
    [{ trustProxy: ["10.0.0/8"] }, /must list CIDR blocks/],
    [{ trustProxy: ["fe80::1%eth0"] }, /must list CIDR blocks/],
    [{ trustProxy: ["everyone"] }, /must list CIDR blocks/],
    [{ trustProxy: ["constructor"] }, /must list CIDR blocks/],
    [{ trustProxy: ["::ffff:0:0/96"] }, /trusts everybody/],
    [{ trustProxy: ["0.0.0.0/0"] }, /trusts everybody/],
    [{ trustProxy: ["::/0"] }, /trusts everybody/],
    [{ ipv6Prefix: 0 }, /from 16 to 128/],
    [{ ipv6Prefix: 129 }, /from 16 to 128/],
    [{ ipv6Prefix: "64" }, /from 16 to 128/],
    [{ header: "" }, /name of a header/],
    [{ header: "a b" }, /name of a header/],
    [{ onWarning: "x" }, /onWarning must be a function/],
    [{ trustproxy: 1 }, /no field "trustproxy"/],
  ])("%o", (options, message) => {
    expect(() => clientKey(options as ClientKeyOptions)).toThrow(message)
  })
})

test.each([
  ["CVE-2026-90711: a mapped block with an IPv4 prefix", "::ffff:10.0.0.0/8"],
  ["CVE-2026-90711: the same in hexadecimal", "::ffff:a00:0/8"],
  ["CVE-2026-92395: a mapped block of 95 bits", "::ffff:10.0.0.0/95"],
  ["CVE-2026-92395: a mapped block of 0 bits", "::ffff:10.0.0.0/0"],
])("%s is refused", (_, block) => {
  expect(() => clientKey({ trustProxy: [block] })).toThrow(/would trust all of IPv4|trusts everybody/)
})

describe("a warning", () => {
  test("is given once when a proxy header arrives and no proxy is trusted", () => {
    const onWarning = vi.fn()
    const key = clientKey({ onWarning })
    key(undefined, request("1.2.3.4"))
    expect(onWarning).not.toHaveBeenCalled()
    for (const name of ["x-forwarded-for", "forwarded", "x-forwarded-for"]) {
      key(undefined, request("1.2.3.4", { [name]: "6.6.6.6" }))
    }
    expect(onWarning.mock.calls).toEqual([[expect.stringMatching(/no proxy is trusted.*trustProxy: 1/)]])
  })

  test("goes to the console by default", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {})
    clientKey()(undefined, request(undefined))
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^sluice: A request has no client address/)]])
    warn.mockRestore()
  })

  test("is not given where proxies are trusted", () => {
    const onWarning = vi.fn()
    clientKey({ onWarning, trustProxy: 1 })(undefined, request("10.0.0.1", { "x-forwarded-for": "1.2.3.4" }))
    clientKey({ onWarning, trustProxy: 0 })(undefined, request("10.0.0.1", { "x-forwarded-for": "1.2.3.4" }))
    expect(onWarning).not.toHaveBeenCalled()
  })
})
