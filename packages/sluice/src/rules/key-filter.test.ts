import { expect, test } from "vitest"
import { KeyFilter } from "./key-filter.js"

function filterOf(keys: readonly string[]): KeyFilter {
  const filter = new KeyFilter()
  const added = new Map<string, true>()
  for (const key of keys) {
    added.set(key, true)
    filter.add(key, added)
  }
  return filter
}

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

test.each([
  ["short keys", numbered("other:", 100_000)],
  ["long keys that differ at the end", numbered("x".repeat(200), 10_000)],
  ["long keys that differ at the start", numbered("", 1_000).map((key) => key + "x".repeat(200))],
  ["odd keys", ["", "\0", "\ud800", "{}", "ä", "x".repeat(256)]],
])("every key that was added passes: %s", (_, keys) => {
  const filter = filterOf(keys)
  expect(keys.filter((key) => !filter.mayHave(key))).toEqual([])
})

test.each(["user:", "customer-", "acme:tenant:"])(
  "of keys that were not added, less than one in twenty passes: %s",
  (prefix) => {
    const filter = filterOf(numbered("other:", 100_000))
    const passed = numbered(prefix, 100_000).filter((key) => filter.mayHave(key)).length
    expect(passed).toBeLessThan(5_000)
  },
)

test("an empty filter lets no key pass", () => {
  expect(numbered("user:", 1_000).some((key) => new KeyFilter().mayHave(key))).toBe(false)
})
