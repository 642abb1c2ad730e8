import fc from "fast-check"
import { parseRateLimit } from "ratelimit-header-parser"
import { parseDictionary, parseList, serializeDictionary, serializeList } from "structured-headers"
import { afterEach, describe, expect, test, vi } from "vitest"
import type { Decision } from "../decision.js"
import { type HeaderOptions, rateLimitHeaders } from "./headers.js"

const decision = (fields: Partial<Decision> = {}): Decision => ({
  allowed: true,
  policy: "default",
  limit: 100,
  window: 60_000,
  remaining: 50,
  retryAfter: 0,
  resetAfter: 30_000,
  source: "store",
  degraded: false,
  ...fields,
})

const burst = { ...decision({ policy: "burst", limit: 100, window: 60_000, remaining: 60 }) }
const daily = decision({
  policy: "daily",
  limit: 1_000,
  window: 86_400_000,
  remaining: 10,
  resetAfter: 7_200_000,
})
const both = { ...daily, policies: [burst, daily] }

/** Parses and serialises a list with an independent implementation. Parsers accept any spacing, so spaces are dropped. */
const roundTrip = (field: string) => serializeList(parseList(field))

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe("the fields of draft 11", () => {
  test("name the policy, its quota and its window, and what is left", () => {
    expect(rateLimitHeaders(decision())).toEqual({
      "RateLimit-Policy": '"default";q=100;w=60',
      RateLimit: '"default";r=50;t=30',
    })
  })

  test("name every policy of a decision", () => {
    expect(rateLimitHeaders(both)).toEqual({
      "RateLimit-Policy": '"burst";q=100;w=60, "daily";q=1000;w=86400',
      RateLimit: '"burst";r=60;t=30, "daily";r=10;t=7200',
    })
  })

  test.each<[keyof ReturnType<typeof rateLimitHeaders>, string, Decision, HeaderOptions]>([
    ["RateLimit-Policy", '"burst";q=100;w=60, "daily";q=1000;w=86400', both, {}],
    [
      "RateLimit-Policy",
      '"peruser";q=100;w=60;pk=:QXBwLTk5OQ==:',
      decision({ policy: "peruser" }),
      { partitionKey: "App-999" },
    ],
    [
      "RateLimit-Policy",
      '"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:',
      decision({ policy: "peruser", limit: 65_535, window: 10_000 }),
      { units: { peruser: "content-bytes" }, partitionKey: "App-999" },
    ],
    ["RateLimit", '"default";r=50;t=30', decision(), {}],
    [
      "RateLimit",
      '"default";r=999;t=30;pk=:dHJpYWwxMjEzMjM=:',
      decision({ remaining: 999 }),
      { partitionKey: "trial121323" },
    ],
  ])("the draft's example %s: %s is written and round-trips", (field, text, from, options) => {
    expect(rateLimitHeaders(from, options)[field]).toBe(text)
    expect(roundTrip(text)).toBe(text)
  })

  test.each([
    ['"burst";q=100;w=60,"daily";q=1000;w=86400', '"burst";q=100;w=60, "daily";q=1000;w=86400'],
    ['"peruser";q=100;w=60;pk=:QXBwLTk5OQ==:', '"peruser";q=100;w=60;pk=:QXBwLTk5OQ==:'],
    [
      '"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:',
      '"peruser";q=65535;qu="content-bytes";w=10;pk=:QXBwLTk5OQ==:',
    ],
    ['"default";r=50;t=30', '"default";r=50;t=30'],
    ['"default";r=999;pk=:dHJpYWwxMjEzMjM=:', '"default";r=999;pk=:dHJpYWwxMjEzMjM=:'],
    ['"7-in-1.5sec"; q=7; w=2', '"7-in-1.5sec";q=7;w=2'],
    ["100;w=60", "100;w=60"],
    ["10;w=1, 50;w=60, 1000;w=3600", "10;w=1, 50;w=60, 1000;w=3600"],
  ])("the list of the drafts %s round-trips as %s", (line, serialised) => {
    expect(roundTrip(line)).toBe(serialised)
    expect(roundTrip(serialised)).toBe(serialised)
  })

  test("the dictionary of draft 7 round-trips", () => {
    const line = "limit=100, remaining=50, reset=5"
    expect(serializeDictionary(parseDictionary(line))).toBe(line)
  })

  // Their last digits of base64 have bits that a byte sequence does not have, so they serialise differently.
  test.each([
    '"peruser";q=100;w=60;pk=:cHsdsRa894==:',
    '"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:',
  ])("the list of the drafts %s parses, with a partition key of 7 bytes", (line) => {
    const [[, parameters]] = parseList(line) as [ReturnType<typeof parseList>[number]]
    expect((parameters.get("pk") as ArrayBuffer).byteLength).toBe(7)
  })

  test("show public names where they are given", () => {
    const names = { burst: "per minute" }
    expect(rateLimitHeaders(both, { names })["RateLimit"]).toBe('"per minute";r=60;t=30, "daily";r=10;t=7200')
  })

  test.each([
    ['a "b" \\c', '"a \\"b\\" \\\\c";r=50;t=30'],
    ["schön", '"sch%C3%B6n";r=50;t=30'],
    ["tab\there", '"tab%09here";r=50;t=30'],
    ["\ud800", '"?";r=50;t=30'],
    ["constructor", '"constructor";r=50;t=30'],
  ])("quote and escape the name %j", (policy, expected) => {
    expect(rateLimitHeaders(decision({ policy }), { names: {} })["RateLimit"]).toBe(expected)
  })

  test("clamp numbers with more than 15 digits", () => {
    const huge = rateLimitHeaders(decision({ limit: 1e18, remaining: 1e18 }))
    expect(huge["RateLimit-Policy"]).toBe('"default";q=999999999999999;w=60')
    expect(huge["RateLimit"]).toBe('"default";r=999999999999999;t=30')
  })

  test("round windows and waits up to whole seconds, a window to at least one", () => {
    expect(rateLimitHeaders(decision({ window: 20, resetAfter: 1 }))).toEqual({
      "RateLimit-Policy": '"default";q=100;w=1',
      RateLimit: '"default";r=50;t=1',
    })
    expect(rateLimitHeaders(decision({ window: 1_500, resetAfter: 0 }))).toEqual({
      "RateLimit-Policy": '"default";q=100;w=2',
      RateLimit: '"default";r=50;t=0',
    })
  })

  test("parse for any decision and any name, and say the same numbers", () => {
    const amount = fc.nat({ max: 1e12 })
    const policies = fc.array(
      fc.record({
        policy: fc.string({ unit: "binary", minLength: 1 }),
        limit: amount,
        remaining: amount,
        window: amount,
        resetAfter: amount,
      }),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(policies, fc.string({ unit: "binary" }), (list, partitionKey) => {
        const all = list.map((fields) => decision(fields))
        const headers = rateLimitHeaders({ ...decision(), policies: all }, { partitionKey })
        const parsed = parseList(headers["RateLimit"] as string)
        const quotas = parseList(headers["RateLimit-Policy"] as string)
        expect(parsed.map(([, parameters]) => parameters.get("r"))).toEqual(
          list.map(({ remaining }) => remaining),
        )
        expect(quotas.map(([, parameters]) => parameters.get("q"))).toEqual(list.map(({ limit }) => limit))
        for (const [name, parameters] of [...parsed, ...quotas]) {
          expect(name).toBeTypeOf("string")
          expect(new TextDecoder().decode(parameters.get("pk") as ArrayBuffer)).toBe(
            new TextDecoder().decode(new TextEncoder().encode(partitionKey)),
          )
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test("are those of draft 8, which has the same syntax", () => {
    expect(rateLimitHeaders(both, { form: "draft-8" })).toEqual(rateLimitHeaders(both))
  })
})

describe("Retry-After", () => {
  const denied = (retryAfter: number) => decision({ allowed: false, remaining: 0, retryAfter })

  test.each([
    [1, "1"],
    [999, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [59_999.5, "60"],
    [86_400_000, "86400"],
  ])("of %d ms is %s s: never 0 and never too early", (ms, expected) => {
    const headers = rateLimitHeaders(denied(ms))
    expect(headers["Retry-After"]).toBe(expected)
    expect(headers["RateLimit"]).toBe(`"default";r=0;t=${expected}`)
  })

  test("is left out when the cost can never pass", () => {
    const headers = rateLimitHeaders(denied(Number.POSITIVE_INFINITY))
    expect(headers).not.toHaveProperty("Retry-After")
    expect(headers["RateLimit"]).toBe('"default";r=0;t=60')
  })

  test("is left out when the request is allowed", () => {
    expect(rateLimitHeaders(decision())).not.toHaveProperty("Retry-After")
  })

  test("is lengthened by jitter, and never shortened", () => {
    const random = vi.spyOn(Math, "random")
    for (const [value, expected] of [
      [0, "100"],
      [0.5, "110"],
      [0.9999, "120"],
    ] as const) {
      random.mockReturnValue(value)
      expect(rateLimitHeaders(denied(100_000), { jitter: 0.2 })["Retry-After"]).toBe(expected)
    }
  })

  test("is the longest wait of several policies, and t is that of each", () => {
    const policies = [
      decision({ policy: "a", allowed: false, remaining: 0, retryAfter: 2_000 }),
      decision({ policy: "b", allowed: false, remaining: 0, retryAfter: 9_000 }),
      decision({ policy: "c" }),
    ]
    const headers = rateLimitHeaders({ ...denied(9_000), policy: "b", policies })
    expect(headers["Retry-After"]).toBe("9")
    expect(headers["RateLimit"]).toBe('"a";r=0;t=2, "b";r=0;t=9, "c";r=50;t=30')
  })
})

describe("older forms", () => {
  test("draft 7 lists the policies and describes the one with the least left", () => {
    const headers = rateLimitHeaders(both, { form: "draft-7" })
    expect(headers).toEqual({
      "RateLimit-Policy": "100;w=60, 1000;w=86400",
      RateLimit: "limit=1000, remaining=10, reset=7200",
    })
    expect(parseDictionary(headers["RateLimit"] as string).get("reset")?.[0]).toBe(7_200)
    expect(roundTrip(headers["RateLimit-Policy"] as string)).toBe(headers["RateLimit-Policy"])
  })

  test.each([
    [
      "10;w=1, 50;w=60, 1000;w=3600",
      [
        [10, 1],
        [50, 60],
        [1_000, 3_600],
      ],
    ],
    ["100;w=10", [[100, 10]]],
    [
      "100;w=60",
      [
        [100, 60],
        [100, 3_600],
      ],
    ],
  ] as const)("the drafts' list of policies %s is written and round-trips", (text, quotas) => {
    const policies = quotas.map(([limit, seconds]) => decision({ limit, window: seconds * 1_000 }))
    for (const form of ["draft-6", "draft-7"] as const) {
      expect(rateLimitHeaders({ ...decision(), policies }, { form })["RateLimit-Policy"]).toBe(text)
    }
    expect(roundTrip(text)).toBe(text)
  })

  test("ratelimit-header-parser reads draft 7", () => {
    vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ["Date"] })
    expect(parseRateLimit(lower(rateLimitHeaders(decision(), { form: "draft-7" })))).toEqual({
      limit: 100,
      used: 50,
      remaining: 50,
      reset: new Date(1_700_000_030_000),
    })
  })

  test("draft 6 has a field for each number", () => {
    expect(rateLimitHeaders(decision(), { form: "draft-6" })).toEqual({
      "RateLimit-Policy": "100;w=60",
      "RateLimit-Limit": "100",
      "RateLimit-Remaining": "50",
      "RateLimit-Reset": "30",
    })
  })

  test("legacy fields give the reset in epoch seconds, rounded up; ratelimit-header-parser reads them", () => {
    vi.useFakeTimers({ now: 1_700_000_000_001, toFake: ["Date"] })
    const headers = rateLimitHeaders(decision(), { form: "legacy" })
    expect(headers).toEqual({
      "X-RateLimit-Limit": "100",
      "X-RateLimit-Remaining": "50",
      "X-RateLimit-Reset": "1700000031",
    })
    const read = { limit: 100, used: 50, remaining: 50, reset: new Date(1_700_000_031_000) }
    expect(parseRateLimit(lower(headers))).toEqual(read)
  })

  test("legacy fields go together with a draft, and describe the longest denial", () => {
    vi.useFakeTimers({ now: 0, toFake: ["Date"] })
    const policies = [burst, { ...daily, allowed: false, retryAfter: 5_000, remaining: 3 }]
    const denial = { ...daily, allowed: false, retryAfter: 5_000, policies }
    expect(rateLimitHeaders(denial, { form: ["draft-11", "legacy"] })).toMatchObject({
      RateLimit: '"burst";r=60;t=30, "daily";r=3;t=5',
      "X-RateLimit-Limit": "1000",
      "X-RateLimit-Remaining": "3",
      "X-RateLimit-Reset": "5",
      "Retry-After": "5",
    })
  })
})

test.each<[object, RegExp]>([
  [{ form: "draft-9" }, /headers.form must be one of draft-11, .*got "draft-9"/],
  [{ form: 7 }, /headers.form must be one of .*got 7/],
  [{ form: ["draft-7", "draft-11"] }, /takes one draft/],
  [{ jitter: -1 }, /headers.jitter must be from 0 to 10, got -1/],
  [{ jitter: Number.NaN }, /headers.jitter/],
  [{ forms: "legacy" }, /no field "forms"/],
])("the options %o throw", (options, message) => {
  expect(() => rateLimitHeaders(decision(), options)).toThrow(message)
})

/** Header names as Node gives them to a client. */
function lower(headers: Record<string, string>) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
