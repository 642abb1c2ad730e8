import { createHash } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { escaped, policyRef } from "../../state-key.js"
import { escapedKey, TAGS, tagOf } from "./keys.js"

const ref = policyRef("api", "default")
const tagsOf = (keys: readonly string[]) => keys.map((key) => tagOf({ ref, key }))
const many = (key: (i: number) => string, count = 64_000) => Array.from({ length: count }, (_, i) => key(i))

describe("the hash tag of a state", () => {
  test("is one of a few numbers, and all of them are used", () => {
    const used = new Set(tagsOf(many((i) => `user:${i}`)))
    expect(used.size).toBe(TAGS)
    for (const tag of used) expect(tag).toMatch(/^\d{1,4}$/)
  })

  test("is the same for all policies of a key, and differs between limiters", () => {
    const keys = many((i) => `user:${i}`, 200)
    const tags = (limiter: string, policy: string) =>
      keys.map((key) => tagOf({ ref: policyRef(limiter, policy), key }))
    expect(tags("api", "daily")).toEqual(tags("api", "burst"))
    expect(tags("web", "daily")).not.toEqual(tags("api", "daily"))
  })

  test("never changes, so that stored states are found again", () => {
    const digest = createHash("sha256").update(tagsOf(many((i) => `k${i}`, 5_000)).join())
    expect(digest.digest("hex").slice(0, 16)).toMatchInlineSnapshot(`"40bba5e2b5311906"`)
  })

  // The 99.9 % quantile of chi-squared with 63 degrees of freedom.
  test.each([
    ["numbers", (i: number) => `${i}`],
    ["names with a number", (i: number) => `user:${i}`],
    ["numbers times a power of two", (i: number) => `${i * 4096}`],
    ["keys with hash tags in them", (i: number) => `{same}${i}`],
    ["keys of one letter, ever longer", (i: number) => "a".repeat(1 + (i % 2_000)) + i],
    [
      "keys that differ in the last of many letters",
      (i: number) => "x".repeat(100) + String.fromCharCode(i % 0xd800),
    ],
  ])("is evenly distributed for %s", (_what, key) => {
    const counts = new Map<string, number>()
    const keys = [...new Set(many(key))]
    for (const tag of tagsOf(keys)) counts.set(tag, (counts.get(tag) ?? 0) + 1)
    const expected = keys.length / TAGS
    let chiSquare = 0
    for (const count of counts.values()) chiSquare += (count - expected) ** 2 / expected
    expect(counts.size).toBe(TAGS)
    expect(chiSquare).toBeLessThan(103.5)
  })
})

test("the fast escape of a key equals the escape of a state key, for any key", () => {
  const character = fc.oneof(
    fc.constantFrom(...":::abc/@ -_.%{}é\ud800".split("")),
    fc.string({ unit: "binary", maxLength: 1 }),
  )
  const keys = fc.array(character, { maxLength: 140 }).map((all) => all.join(""))
  fc.assert(
    fc.property(keys, (key) => {
      expect(escapedKey(key)).toBe(escaped(key))
    }),
    { numRuns: 2_000 },
  )
  for (const length of [1, 43, 64, 127, 128, 129]) {
    for (const key of ["a".repeat(length), ":".repeat(length), `${"a".repeat(length - 1)}:`]) {
      expect(escapedKey(key)).toBe(escaped(key))
    }
  }
})
