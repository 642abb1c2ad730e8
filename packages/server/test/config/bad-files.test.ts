import { expect, test } from "vitest"
import { ConfigError, problemText } from "../../src/config/problems.js"
import { readConfig } from "../../src/config/read-config.js"
import { factories } from "../../src/config/read-policy.js"

/** The problems of a file, without its name: `line:column: message`. */
function problemsOf(text: string, env: Record<string, string> = {}): string[] {
  try {
    readConfig([{ name: "f", text }], env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((problem) => problemText(problem).replace(/^f:/, ""))
  }
}

const algorithms = Object.keys(factories).join(", ")
const api = (policy: string) => `limiters:\n  api:\n    policy: ${policy}\n`
const descriptor = (text: string) => `domain: d\ndescriptors:\n  - key: k\n    ${text}\n`
const limit = (text: string) => descriptor(`rate_limit: ${text}`)

const files: readonly [what: string, text: string, problem: string][] = [
  ["nothing", "", "1:1: the file is empty"],
  ["a list", "- a\n", "1:1: the configuration must be a map, got a list"],
  ["a tab", "a:\n\tb: 1\n", "2:1: Tabs are not allowed as indentation"],
  ["a key that stands twice", "store: memory\nstore: memory\n", "2:1: Map keys must be unique"],
  [
    "an open bracket",
    "listen: {http: 1\n",
    "2:1: Flow map in block collection must be sufficiently indented and end with a }",
  ],
  ["a key that is a number", "limiters:\n  7: {}\n", "2:3: a key must be a string, got 7"],
  ["an unknown section", "limits: {}\n", '1:1: unknown key "limits"; did you mean limiters?'],
  ["a misspelt section", "limitres: {}\n", '1:1: unknown key "limitres"; did you mean limiters?'],
  [
    "an address without a port",
    "listen:\n  http: localhost\n",
    '2:9: http must be host:port, :port or false, got "localhost"',
  ],
  [
    "a port out of range",
    "listen:\n  grpc: :99999\n",
    '2:9: grpc must be host:port, :port or false, got ":99999"',
  ],
  [
    "an address that is no IPv6",
    "listen:\n  http: '[::x]:80'\n",
    '2:9: http must be host:port, :port or false, got "[::x]:80"',
  ],
  ["an unknown listener", "listen:\n  htp: :80\n", '2:3: unknown key "htp"; did you mean http?'],
  [
    "a short token",
    "admin:\n  token: secret\n",
    "2:10: token must have at least 16 characters; `openssl rand -hex 24` makes one",
  ],
  [
    "a variable that is not set",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of the file
    "admin:\n  token: ${NO_SUCH_VARIABLE}\n",
    "2:10: the variable NO_SUCH_VARIABLE is not set in the environment",
  ],
  [
    "a file without any listener",
    "listen:\n  http: false\n  grpc: false\n",
    "2:3: listen must leave http or grpc on, or the server has nothing to do",
  ],
  [
    "a prefix with braces",
    "store:\n  url: redis://a\n  prefix: 'a{b}'\n",
    '3:11: prefix must be a text without braces, got "a{b}"',
  ],
  [
    "Sentinel without nodes",
    "store:\n  sentinel:\n    name: m\n    nodes: []\n",
    "4:12: nodes needs the address of at least one Sentinel",
  ],
  [
    "a store that is no URL",
    "store: localhost:6379\n",
    '1:8: store must be a URL such as redis://localhost:6379, got "localhost:6379"',
  ],
  [
    "a URL with a query",
    "store: redis://a?autoResendUnfulfilledCommands=true\n",
    '1:8: store must have no query, because it could make the client send calls twice, got "redis://a?autoResendUnfulfilledCommands=…"',
  ],
  [
    "a store without servers",
    "store:\n  type: redis\n",
    "2:3: a Redis store needs one of url, cluster and sentinel",
  ],
  [
    "a store with two kinds of servers",
    "store:\n  url: redis://a\n  cluster: [redis://b]\n",
    "2:3: a Redis store needs one of url, cluster and sentinel",
  ],
  [
    "a memory store with a URL",
    "store:\n  type: memory\n  url: redis://a\n",
    "3:3: a store of type memory has no url",
  ],
  [
    "a Cluster without nodes",
    "store:\n  cluster: []\n",
    "2:12: cluster needs the address of at least one server",
  ],
  [
    "a Sentinel without a name",
    "store:\n  sentinel:\n    nodes: [a:1]\n",
    "3:5: sentinel needs the name of its master",
  ],
  [
    "an unknown delivery",
    "store:\n  url: redis://a\n  delivery: fast\n",
    '3:13: delivery must be one of function, script, got "fast"',
  ],
  ["a limiter without a policy", "limiters:\n  api: {}\n", '2:8: limiter "api" needs a policy'],
  ["a limiter that is a text", "limiters:\n  api: fast\n", '2:8: api must be a map, got "fast"'],
  [
    "a misspelt option of a limiter",
    "limiters:\n  api:\n    polcy: {}\n    policy: { algorithm: slidingLog, limit: 1, window: 1s }\n",
    '3:5: unknown key "polcy"; did you mean policy?',
  ],
  [
    "a policy without an algorithm",
    api("{ limit: 5, window: 1s }"),
    `3:15: policy needs an algorithm: one of ${algorithms}`,
  ],
  [
    "an unknown algorithm",
    api("{ algorithm: gcra, limit: 5 }"),
    `3:26: algorithm must be one of ${algorithms}, got "gcra"`,
  ],
  ["a policy without a limit", api("{ algorithm: slidingLog, window: 1s }"), "3:13: policy needs limit"],
  [
    "a limit of zero",
    api("{ algorithm: slidingLog, limit: 0, window: 1s }"),
    "3:45: limit must be an integer from 1 to 1e+12, got 0",
  ],
  [
    "a limit that is a fraction",
    api("{ algorithm: slidingLog, limit: 1.5, window: 1s }"),
    "3:45: limit must be an integer from 1 to 1e+12, got 1.5",
  ],
  [
    "a window that is no duration",
    api("{ algorithm: slidingLog, limit: 5, window: soon }"),
    '3:56: window must be whole milliseconds or a string like "10s", from 1 ms to ten years, got "soon"',
  ],
  [
    "an option that the algorithm does not have",
    api("{ algorithm: slidingLog, limit: 5, window: 1s, burst: 3 }"),
    '3:60: slidingLog has no field "burst"; it takes limit, window',
  ],
  [
    "an unknown alignment",
    api("{ algorithm: fixedWindow, limit: 5, window: 1s, align: left }"),
    '3:68: align must be one of "first", "clock", got "left"',
  ],
  [
    "a bucket that takes too long to fill",
    api("{ algorithm: tokenBucket, capacity: 1000000, refill: 1, every: 1d }"),
    "3:13: 1000000 units at 1 every 86400000 ms take more than ten years",
  ],
  [
    "a policy among several that is wrong",
    "limiters:\n  api:\n    policy:\n      a: { algorithm: slidingLog, limit: 1, window: 1s }\n      b: { algorithm: slidingLog, limit: x, window: 1s }\n",
    '5:42: limit must be an integer from 1 to 1e+12, got "x"',
  ],
  [
    "an unknown mode",
    `${api("{ algorithm: slidingLog, limit: 5, window: 1s }")}    mode: shadow\n`,
    '4:11: mode must be enforce, observe or { enforce: share }, got "shadow"',
  ],
  [
    "a share above 1",
    `${api("{ algorithm: slidingLog, limit: 5, window: 1s }")}    mode: { enforce: 2 }\n`,
    "4:22: enforce must be a number from 0 to 1, got 2",
  ],
  [
    "a leaky bucket with a lease",
    `${api("{ algorithm: leakyBucket, capacity: 5, leak: 1, every: 1s }")}    lease: true\n`,
    "4:12: a leakyBucket cannot be leased, because its outflow would not be even",
  ],
  [
    "an unknown outage policy",
    "outage:\n  then: allow\n",
    '2:9: then must be open, closed, throw or { local: share }, got "allow"',
  ],
  [
    "a limiter with the name of a descriptor's rule",
    `limiters:\n  d/k=v/n: { policy: { algorithm: fixedWindow, limit: 1, window: 1m } }\n${descriptor(
      "value: v\n    descriptors: [{ key: n, rate_limit: { unit: day, requests_per_unit: 1 } }]",
    )}`,
    '2:3: limiter "d/k=v/n" has the name of a descriptor; choose another name',
  ],
  [
    "response headers that are a text",
    "envoy:\n  responseHeaders: on please\n",
    '2:20: responseHeaders must be true, false or { limit, remaining, reset }, got "on please"',
  ],
  [
    "a response header with a space",
    "envoy:\n  responseHeaders:\n    reset: Reset After\n",
    '3:12: reset must be the name of a header, got "Reset After"',
  ],
  ["a drain that is too long", "http:\n  drain: 2h\n", '2:10: drain must be at most 1h, got "2h"'],
  ["a deadline that is too long", "outage:\n  deadline: 5m\n", "2:13: deadline must be at most 60s"],
  ["descriptors without a domain", "descriptors: []\n", "1:1: a configuration of descriptors needs a domain"],
  ["an empty domain", 'domain: ""\ndescriptors: []\n', "1:9: domain must not be empty"],
  [
    "descriptors that are no list",
    "domain: d\ndescriptors: {}\n",
    "2:14: descriptors must be a list, got a map",
  ],
  [
    "a descriptor that is a text",
    "domain: d\ndescriptors:\n  - k\n",
    '3:5: descriptors[0] must be a map, got "k"',
  ],
  ["a descriptor without a key", "domain: d\ndescriptors:\n  - value: v\n", "3:5: a descriptor needs a key"],
  [
    "a descriptor that stands twice",
    "domain: d\ndescriptors:\n  - key: k\n  - key: k\n",
    '4:5: the descriptor "k" is there twice',
  ],
  [
    "a misspelt key of a descriptor",
    descriptor("ratelimit: {}"),
    '4:5: unknown key "ratelimit"; did you mean rate_limit?',
  ],
  [
    "an unknown unit",
    limit("{ unit: fortnight, requests_per_unit: 1 }"),
    '4:25: unit must be one of second, minute, hour, day, week, month, year, got "fortnight"',
  ],
  [
    "a rate limit without a unit",
    limit("{ requests_per_unit: 1 }"),
    "4:17: rate_limit needs a unit: second, minute, hour, day, week, month or year",
  ],
  [
    "a negative rate",
    limit("{ unit: day, requests_per_unit: -1 }"),
    "4:49: requests_per_unit must be an integer from 0 to 4294967295, got -1",
  ],
  ["unlimited with a unit", limit("{ unit: day, unlimited: true }"), "4:19: unlimited takes no unit"],
  [
    "a rate limit that replaces itself",
    limit("{ unit: day, requests_per_unit: 1, name: a, replaces: [{ name: a }] }"),
    '4:72: the rate_limit "a" replaces itself',
  ],
  [
    "share_threshold without a wildcard",
    descriptor("share_threshold: true"),
    "4:5: share_threshold needs a value with a wildcard (*)",
  ],
  [
    "a flag that is no boolean",
    descriptor("shadow_mode: maybe"),
    '4:18: shadow_mode must be true or false, got "maybe"',
  ],
  [
    "a policy and a rate limit",
    descriptor(
      "rate_limit: { unit: day, requests_per_unit: 1 }\n    policy: { algorithm: slidingLog, limit: 1, window: 1s }",
    ),
    "5:5: policy takes the place of unit and requests_per_unit; leave one of them out",
  ],
  [
    "an unknown log level",
    "log:\n  level: loud\n",
    '2:10: level must be one of debug, info, warn, error, silent, got "loud"',
  ],
  [
    "a form of headers that does not exist",
    "http:\n  headers: draft-99\n",
    '2:12: headers must be one of draft-11, draft-8, draft-7, draft-6, legacy, got "draft-99"',
  ],
]

test.each(files)("a file with %s is refused with its position", (_, text, problem) => {
  expect(problemsOf(text)).toContain(problem)
})

test("there are at least forty bad files, each with its own message", () => {
  expect(new Set(files.map(([, , problem]) => problem)).size).toBeGreaterThanOrEqual(40)
})

test("a file with several problems is refused with all of them", () => {
  const problems = problemsOf("listen:\n  http: x\nlimiters:\n  api: {}\n  b: 7\nlogs: 1\n")
  const positions = problems.map((problem) => problem.split(": ")[0])
  expect(positions.sort()).toEqual(["2:9", "4:8", "5:6", "6:1"])
})

test("a section in two files is refused in the second", () => {
  const read = () =>
    readConfig(
      [
        { name: "a", text: "store: memory\n" },
        { name: "b", text: "store: memory\n" },
      ],
      {},
    )
  expect(read).toThrow("b:1:8: store is in a already")
})

test("aliases that would repeat a small file into a huge one are refused", () => {
  const lines = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
  for (let i = 1; i < 12; i += 1) {
    const [here, before] = ["abcdefghijklmn"[i], "abcdefghijklmn"[i - 1]]
    lines.push(`${here}: &${here} [${Array(10).fill(`*${before}`).join(",")}]`)
  }
  expect(problemsOf(lines.join("\n")).join()).toContain("Excessive alias count")
})

test("a short token of the environment is a problem, as in a file", () => {
  const problem =
    "SLUICE_ADMIN_TOKEN:1:1: token must have at least 16 characters; `openssl rand -hex 24` makes one"
  const problems = (text: string, token: string) => {
    try {
      readConfig([{ name: "f", text }], { SLUICE_ADMIN_TOKEN: token })
      return ""
    } catch (error) {
      return (error as Error).message
    }
  }
  const text = "limiters: {}\n"
  expect(problems(text, "a")).toBe(problem)
  expect(problems(text, "")).toBe("")
  expect(problems(text, "0123456789abcdef")).toBe("")
  expect(problems(`admin: { token: 0123456789abcdef }\n${text}`, "a")).toBe("")
})
