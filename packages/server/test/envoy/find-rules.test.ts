import { expect, test } from "vitest"
import { findRule, matcher } from "../../src/envoy/find-rules.js"
import { configOf } from "../grpc/support/rls-server.js"

const domainOf = (text: string) => {
  const [domain] = configOf(`domain: d\ndescriptors:\n${text}`).domains.values()
  return domain as NonNullable<typeof domain>
}
const found = (text: string, ...entries: (readonly [string, string])[]) =>
  findRule(
    domainOf(text),
    entries.map(([key, value]) => ({ key, value })),
  )

test.each([
  ["*", "", true],
  ["*", "anything", true],
  ["a*", "a", true],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["*b*", "abc", true],
  ["*b*", "ac", false],
  ["a**c", "abc", true],
  ["a*bc*bcd", "abcbcd", true],
  ["a*bc*cd", "abcd", false],
  ["[.]*(x)", "[.]y(x)", true],
  ["a.c*", "abc", false],
])("the pattern %s against %j: %s", (pattern, value, expected) => {
  expect(matcher(pattern)(value)).toBe(expected)
})

test("a long value against many stars takes no time", () => {
  const matches = matcher(`${"a*".repeat(30)}b`)
  const since = performance.now()
  expect(matches("a".repeat(60_000))).toBe(false)
  expect(matches(`${"a".repeat(60_000)}c b`)).toBe(true)
  expect(performance.now() - since).toBeLessThan(200)
})

test("the key of a counter has all entries, and nested shared wildcards as they stand in the file", () => {
  const rules = `
  - key: tenant
    value: "t*"
    share_threshold: true
    descriptors:
      - { key: path, rate_limit: { unit: day, requests_per_unit: 1 } }`
  expect(found(rules, ["tenant", "t1"], ["path", "/a"])?.key).toBe("tenant=t*/path=%2fa")
})

test("a rule with a value and no nested rules hides the nested rules of the key alone", () => {
  const rules = `
  - key: a
    descriptors: [{ key: b, rate_limit: { unit: day, requests_per_unit: 1 } }]
  - { key: a, value: x }`
  expect(found(rules, ["a", "y"], ["b", "1"])).toBeDefined()
  expect(found(rules, ["a", "x"], ["b", "1"])).toBeUndefined()
})

test.each([
  ["the path of the rule by default", "", "a/b=1"],
  ["the values of the request with detailed_metric", "detailed_metric: true, ", "a=x/b=1"],
])("the label in metrics is %s", (_, flag, label) => {
  const rules = `
  - key: a
    descriptors: [{ key: b, value: 1, ${flag}rate_limit: { unit: day, requests_per_unit: 1 } }]`
  expect(found(rules, ["a", "x"], ["b", "1"])?.label).toBe(label)
})

test("with value_to_metric, the label has the value of that entry alone", () => {
  const rules = `
  - key: a
    descriptors:
      - key: b
        value_to_metric: true
        descriptors: [{ key: c, rate_limit: { unit: day, requests_per_unit: 1 } }]`
  expect(found(rules, ["a", "x"], ["b", "y"], ["c", "z"])?.label).toBe("a/b=y/c")
})
