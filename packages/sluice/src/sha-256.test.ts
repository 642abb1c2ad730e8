import { createHash } from "node:crypto"
import fc from "fast-check"
import { expect, test } from "vitest"
import { sha256 } from "./sha-256.js"

const expected = (text: string) => createHash("sha256").update(text).digest("base64url")

test("a digest equals that of node:crypto for all lengths around block boundaries", () => {
  for (let length = 0; length <= 200; length += 1) {
    const text = "é".repeat(length % 7) + "x".repeat(length)
    expect(sha256(text)).toBe(expected(text))
  }
})

test("a digest equals that of node:crypto for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      expect(sha256(text)).toBe(expected(text))
    }),
    { numRuns: 1_000 },
  )
  const long = "ab%é用😀".repeat(100_000)
  expect(sha256(long)).toBe(expected(long))
})
