import { describe, expect, test } from "vitest"
import { parseRetryAfter } from "./parse-retry-after.js"

const date = "Sun, 06 Nov 2033 08:49:37 GMT"
const at = Date.parse(date) / 1_000

/** Parses a response with this status and these headers. Its `Date` header defaults to `date`. */
const of = (status: number, headers: Record<string, string>) =>
  parseRetryAfter({ status, headers: new Headers({ date, ...headers }) })

const between = (least: number, most: number) => (ms: number) => ms >= least && ms <= most

describe("Retry-After", () => {
  test.each([
    ["30", 30_000],
    ["0", 0],
    ["Sun, 06 Nov 2033 08:50:37 GMT", 60_000],
    ["Sunday, 06-Nov-33 08:50:37 GMT", 60_000],
    ["Sun Nov  6 08:50:37 2033", 60_000],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
    ["99999999999999999999", 1e23],
  ])("%s is %d ms", (text, ms) => {
    expect(of(429, { "retry-after": text })).toBe(ms)
  })

  test.each([
    "",
    "soon",
    "-5",
    "1.5",
    "1e3",
    "0x10",
    "5, 10",
    "2033-11-06",
    "Sun, 99 Foo 2033 08:49:37 GMT",
    "Sun, 06 Nov 2033",
  ])("%j says nothing", (text) => {
    expect(of(429, { "retry-after": text })).toBeUndefined()
  })

  test("a date is compared with the Date header of the response, or with the local clock without one", () => {
    const headers = { "retry-after": new Date(Date.now() + 90_000).toUTCString() }
    expect(parseRetryAfter({ status: 503, headers: new Headers(headers) })).toSatisfy(between(88_000, 90_000))
    const garbled = new Headers({ ...headers, date: "yesterday" })
    expect(parseRetryAfter({ status: 503, headers: garbled })).toSatisfy(between(88_000, 90_000))
  })

  test.each([403, 429, 503])("it holds everybody back with %d", (status) => {
    expect(of(status, { "retry-after": "7" })).toBe(7_000)
  })

  test.each([200, 202, 301, 404, 500])("with %d it speaks of one resource", (status) => {
    expect(of(status, { "retry-after": "7" })).toBeUndefined()
  })

  test("Retry-After wins over all other headers, even with a shorter time", () => {
    expect(of(429, { "retry-after": "7", ratelimit: '"default";r=0;t=30' })).toBe(7_000)
    expect(of(429, { "retry-after": "0", ratelimit: '"default";r=0;t=30' })).toBe(0)
    expect(of(429, { "retry-after": "later", ratelimit: '"default";r=0;t=30' })).toBe(30_000)
  })
})

describe("RateLimit", () => {
  test.each([
    ['"default";r=0;t=30', 30_000],
    ['"default"; r=0; t=30', 30_000],
    ['"default";pk=:dHJpYWw=:;r=0;t=30', 30_000],
    ['"burst";r=0;t=5, "daily";r=0;t=3600', 3_600_000],
    ['"burst";r=0;t=5, "daily";r=10;t=3600', 5_000],
    ['"a,b;r=0;t=9";r=0;t=2', 2_000],
    ['"say \\"r\\"";r=0;t=2', 2_000],
    ['"default";r=0;t=0', 0],
    ["limit=100, remaining=0, reset=5", 5_000],
    ['limit=100;w=60,remaining=0,reset=5;comment="x"', 5_000],
  ])("%s is %d ms", (text, ms) => {
    expect(of(200, { ratelimit: text })).toBe(ms)
  })

  test.each([
    '"default";r=1;t=30',
    '"default";r=0',
    '"default";t=30',
    '"default";r=-1;t=30',
    '"default";r=0;t=-30',
    '"default";r=0.0;t=30',
    '"default";r=0;t="30"',
    '"default";r=0;t=30,',
    '"default";r=0;t=30 "daily"',
    '"default;r=0;t=30',
    '"default";R=0;T=30',
    "limit=100, remaining=1, reset=5",
    "limit=100, reset=5",
    "limit=100, remaining=0",
    "limit=100, remaining=0, reset=soon",
    "",
    "none",
  ])("%s says nothing", (text) => {
    expect(of(200, { ratelimit: text })).toBeUndefined()
  })

  test("several RateLimit lines are read as one list", () => {
    const headers = new Headers()
    headers.append("ratelimit", '"burst";r=0;t=5')
    headers.append("ratelimit", '"daily";r=0;t=9')
    expect(parseRetryAfter({ status: 200, headers })).toBe(9_000)
  })

  test("the RateLimit headers of a cached response are ignored", () => {
    expect(of(200, { ratelimit: '"default";r=0;t=30', age: "3" })).toBeUndefined()
    expect(of(200, { ratelimit: '"default";r=0;t=30', age: "0" })).toBe(30_000)
  })
})

describe.each(["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"])("%sRemaining and %sReset", (prefix) => {
  const counters = (remaining: string, reset: string) => ({
    [`${prefix}Remaining`]: remaining,
    [`${prefix}Reset`]: reset,
  })

  test.each([
    ["seconds", "30", 30_000],
    ["parts of a second", "1.5", 1_500],
    ["seconds since the epoch", `${at + 60}`, 60_000],
    ["seconds since the epoch that have passed", `${at - 60}`, 0],
    ["milliseconds since the epoch", `${(at + 60) * 1_000}`, 60_000],
  ])("a reset in %s", (_, reset, ms) => {
    expect(of(200, counters("0", reset))).toBe(ms)
  })

  test.each([
    ["1", "30"],
    ["-1", "30"],
    ["none", "30"],
    ["0", "soon"],
    ["0", "-30"],
    ["0", ""],
    ["0", "1s"],
  ])("%s and %s say nothing", (remaining, reset) => {
    expect(of(200, counters(remaining, reset))).toBeUndefined()
  })

  test("a remaining header without a reset header is ignored, and the reverse", () => {
    expect(of(200, { [`${prefix}Remaining`]: "0" })).toBeUndefined()
    expect(of(200, { [`${prefix}Reset`]: "30" })).toBeUndefined()
  })
})

test("of several RateLimit formats, the newest that parses wins", () => {
  const older = { "ratelimit-remaining": "0", "ratelimit-reset": "20", "x-ratelimit-remaining": "0" }
  expect(of(200, { ...older, "x-ratelimit-reset": "10", ratelimit: '"a";r=0;t=30' })).toBe(30_000)
  expect(of(200, { ...older, "x-ratelimit-reset": "10", ratelimit: '"a";r=1;t=30' })).toBe(20_000)
})
