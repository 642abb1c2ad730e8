import fc from "fast-check"
import { clientKey, type HttpRequest } from "sluice/http"
import { describe, expect, test } from "vitest"

describe("100,000 random headers", () => {
  const octet = fc.integer({ min: 0, max: 300 })
  const piece = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(octet, octet, octet, octet).map((octets) => octets.join(".")) },
    { weight: 2, arbitrary: fc.ipV6() },
    fc.ipV4(),
    fc.constantFrom(
      ...'",;=[]%\\: \t',
      "for=",
      'for="',
      "unknown",
      "::",
      "::ffff:",
      "10.0.0.9",
      "[::1]:80",
      "_x",
    ),
    fc.string({ maxLength: 8, unit: "binary" }),
  )
  const hostile = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""))
  const lists = fc.array(hostile, { maxLength: 4 }).map((items) => items.join(", "))
  const keys = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f:]+\/64)$/
  const client = "203.0.113.7"
  const runs = { numRuns: 25_000 }

  test("never throw, and never move an untrusted peer", () => {
    const trusting = ["x-forwarded-for", "forwarded"].map((header) =>
      clientKey({ trustProxy: ["10.0.0.0/8"], header }),
    )
    fc.assert(
      fc.property(lists, (value) => {
        const http: HttpRequest = { address: client, header: () => value }
        for (const key of trusting) expect(key(undefined, http)).toBe(client)
      }),
      runs,
    )
  })

  test.each([
    ["x-forwarded-for", client, 1],
    ["forwarded", `for=${client}`, 1],
    ["forwarded", `for="${client}:80";proto=https`, ["10.0.0.0/8"]],
  ] as const)("in %s never change what the trusted proxy appended: %s", (header, appended, trustProxy) => {
    const key = clientKey({ trustProxy, header })
    fc.assert(
      fc.property(lists, (spoofed) => {
        const http: HttpRequest = { address: "10.0.0.1", header: () => `${spoofed}, ${appended}` }
        expect(key(undefined, http)).toBe(client)
      }),
      runs,
    )
  })

  test("as the whole header give a key of a known form", () => {
    for (const header of ["x-forwarded-for", "forwarded"]) {
      const key = clientKey({ trustProxy: 3, header })
      fc.assert(
        fc.property(lists, (value) => {
          expect(key(undefined, { address: "10.0.0.1", header: () => value })).toMatch(keys)
        }),
        runs,
      )
    }
  })
})
