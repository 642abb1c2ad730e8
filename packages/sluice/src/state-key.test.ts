import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { policyRef, stateKey } from "./state-key.js"

const keyOf = (limiter: string, key: string, policy: string) =>
  stateKey({ ref: policyRef(limiter, policy), key })

/** Any string of UTF-16 code units, including lone surrogates, with many separators. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(...'%:{}\u0000\n ahu0\ud800\udc00é7b"'.split("")),
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    ),
    { minLength: 1, maxLength: 200 },
  )
  .map((chars) => chars.join(""))

describe("the key of a state", () => {
  test("is readable if the input is plain", () => {
    expect(keyOf("api", "user_42@example.com", "default")).toBe("api:user_42@example.com:default")
    expect(keyOf("api", "用户", "default")).toBe("api:用户:default")
  })

  test("escapes separators and braces", () => {
    expect(keyOf("a:b", "{x}", "100%")).toBe("a%3ab:%7bx%7d:100%25")
    expect(keyOf("n", "\u0000\n\u007f", "p")).toBe("n:%00%0a%7f:p")
    expect(keyOf("n", "\ud800", "p")).toBe("n:%ud800:p")
    expect(keyOf("n", "\ud83d\ude00", "p")).toBe("n:\ud83d\ude00:p")
  })

  test("hashes parts of more than 128 bytes", () => {
    expect(keyOf("n", "x".repeat(128), "p")).toBe(`n:${"x".repeat(128)}:p`)
    expect(keyOf("n", "x".repeat(129), "p")).toMatch(/^n:%h[\w-]{43}:p$/)
    expect(keyOf("n", "é".repeat(65), "p")).toMatch(/^n:%h[\w-]{43}:p$/)
  })

  test("has exactly two colons and no braces for any input", () => {
    fc.assert(
      fc.property(text, text, text, (name, key, policy) => {
        const made = keyOf(name, key, policy)
        expect(made.replace(/[^{}:]/g, "")).toBe("::")
        expect(made).not.toMatch(/\p{Surrogate}/u)
      }),
      { numRuns: 2_000 },
    )
  })

  test("differs when the input differs", () => {
    fc.assert(
      fc.property(fc.tuple(text, text, text), fc.tuple(text, text, text), (a, b) => {
        fc.pre(a.join("\u0001") !== b.join("\u0001"))
        expect(keyOf(...a)).not.toBe(keyOf(...b))
      }),
      { numRuns: 5_000 },
    )
    const halves = [
      "\ud800",
      "\udbff",
      "\udc00",
      "\udfff",
      "\ufffd",
      "\ud800\udc00",
      "\udc00\ud800",
      "\\ud800",
    ]
    const long = halves.flatMap((half) => [half.repeat(130), JSON.stringify(half.repeat(130))])
    expect(new Set(long.map((key) => keyOf("n", key, "p"))).size).toBe(long.length)
    const near = ["a", "A", "a ", "%61", "%h", "\ud800", "\ufffd", "%ud800", ":", "%3a", "%3A"]
    expect(new Set(near.map((key) => keyOf("n", key, "p"))).size).toBe(near.length)
  })
})
