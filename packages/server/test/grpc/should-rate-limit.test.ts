import { status } from "@grpc/grpc-js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Descriptor, on, rlsClient, units } from "./support/rls-client.js"
import { startRls } from "./support/rls-server.js"

// Windows are cut at multiples of their unit, so limits per year do not end during a test.
const limit = (requests: number, more = "") =>
  `rate_limit: { unit: year, requests_per_unit: ${requests}${more} }`

const config = `
domain: shop
descriptors:
  - { key: ip, ${limit(3)} }
  - { key: ip, value: 10.0.0.1, ${limit(5)} }
  - { key: ip, value: 10.9.9.9, ${limit(0)} }
  - { key: ip, value: 10.2.2.2 }
  - { key: ip, value: "10.7.*", ${limit(7)} }
  - { key: ip, value: "10.7.7*", ${limit(8)} }
  - { key: global, ${limit(10)} }
  - { key: other, ${limit(10)} }
  - { key: code, value: 007, ${limit(2)} }
  - { key: named, ${limit(4, ", name: per-name")} }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: shadow, shadow_mode: true, ${limit(2)} }
  - { key: shadow, value: blocked, shadow_mode: true, ${limit(0)} }
  - { key: counted, count_denied: true, ${limit(5)} }
  - { key: quota, value: a, quota_mode: true, ${limit(1)} }
  - { key: quota, value: b, quota_mode: true, ${limit(2)} }
  - { key: bucket, policy: { algorithm: tokenBucket, capacity: 6, refill: 6, every: 365d } }
  - key: several
    policy:
      burst: { algorithm: fixedWindow, limit: 2, window: 365d, align: clock }
      total: { algorithm: slidingLog, limit: 3, window: 30d }
  - key: files
    value: "/img/*.png"
    share_threshold: true
    ${limit(2)}
  - key: route
    value: "a*b*c"
    ${limit(1)}
  - key: service
    value: mail
    descriptors:
      - { key: to, ${limit(2)} }
      - { key: to, value: boss, ${limit(1)} }
      - key: via
        ${limit(9)}
        descriptors:
          - { key: to, ${limit(1)} }
  - { key: base, rate_limit: { unit: year, requests_per_unit: 1, name: base } }
  - { key: special, rate_limit: { unit: year, requests_per_unit: 2, replaces: [{ name: base }] } }
  - { key: vip, rate_limit: { unlimited: true, replaces: [{ name: base }] } }
  - { key: ours, policy: { algorithm: slidingLog, limit: 2, window: 30d }, rate_limit: { name: ours, replaces: [{ name: base }] } }
domains:
  - { domain: empty, descriptors: [] }
  - domain: other-shop
    descriptors:
      - { key: ip, ${limit(3)} }
`

let server: Awaited<ReturnType<typeof startRls>>
beforeAll(async () => {
  server = await startRls(config)
})
afterAll(() => server.stop())

const ask = (...descriptors: Descriptor[]) => server.ask("shop", descriptors)
/** Asks until the answer is OVER_LIMIT, and returns how often it was OK. */
const admitted = async (most: number, ...descriptors: Descriptor[]) => {
  for (let count = 0; count < most; count += 1) if ((await ask(...descriptors)).code !== "OK") return count
  return most
}
const remaining = async (descriptor: Descriptor) => {
  const { statuses } = await ask({ ...descriptor, hits: 0 })
  return statuses[0]?.remaining
}
const failure = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: { code: number; details: string }) => ({ code: error.code, details: error.details }),
  )

describe("requests that break the rules", () => {
  test("an empty domain is an invalid argument", async () => {
    expect(await failure(server.ask("", [on("ip", "1")]))).toEqual({
      code: status.INVALID_ARGUMENT,
      details: "the domain must not be empty",
    })
  })
  test("a request without descriptors is an invalid argument", async () => {
    expect(await failure(ask())).toMatchObject({ code: status.INVALID_ARGUMENT })
  })
  test("64 descriptors are answered, and 65 are an invalid argument that charges nothing", async () => {
    const many = (count: number) => Array.from({ length: count }, () => on("global", "many"))
    expect((await ask(...many(64))).statuses).toHaveLength(64)
    expect(await failure(ask(...many(65)))).toMatchObject({ code: status.INVALID_ARGUMENT })
    expect(await remaining(on("global", "many"))).toBe(10)
  })
  test("32 entries are answered, and 33 are an invalid argument", async () => {
    const entries = (count: number) => on(...Array.from({ length: count * 2 }, () => "x"))
    expect((await ask(entries(32))).code).toBe("OK")
    expect(await failure(ask(entries(33)))).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: "a descriptor has at most 32 entries, got 33",
    })
  })
  test("an invalid descriptor among valid ones charges nothing", async () => {
    const wrong = { ...on("ip", "x"), limit: { requestsPerUnit: 1, unit: 0 } }
    expect(await failure(ask(on("global", "valid"), wrong))).toMatchObject({ code: status.INVALID_ARGUMENT })
    expect(await remaining(on("global", "valid"))).toBe(10)
  })
  test("a descriptor as long as all headers that Envoy takes is counted", async () => {
    expect(await admitted(9, on("ip", "x".repeat(61_440)), on("global", "x".repeat(61_440)))).toBe(3)
  })
  test("a message above 1 MB is refused", async () => {
    const sent = failure(ask(on("global", "x".repeat(1_100_000))))
    expect(await sent).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  })
  test("a message that is no protobuf is refused, and the server stays up", async () => {
    expect(await failure(server.send(Buffer.from([0x0a, 0xff, 0xff])))).toMatchObject({
      code: status.INTERNAL,
    })
    expect((await ask(on("ip", "after garbage"))).code).toBe("OK")
  })
})

describe("descriptors without a limit", () => {
  test("an unknown domain is OK without a limit", async () => {
    expect(await server.ask("nowhere", [on("ip", "1"), on("x", "y")])).toEqual({
      code: "OK",
      statuses: [
        { code: "OK", remaining: 0 },
        { code: "OK", remaining: 0 },
      ],
      headers: {},
    })
  })
  test.each([
    ["a domain without descriptors", "empty", on("ip", "1")],
    ["an unknown key", "shop", on("nokey", "1")],
    ["a known value of a rule without a limit", "shop", on("ip", "10.2.2.2")],
    ["a descriptor that is deeper than the rules", "shop", on("ip", "1", "to", "2")],
    ["a descriptor that is less deep than the rules", "shop", on("service", "mail")],
    ["a descriptor without entries", "shop", on()],
    ["an entry with an empty key", "shop", on("", "x")],
    ["a key that differs in case", "shop", on("IP", "1")],
    ["a nested rule under a value that has none", "shop", on("service", "web", "to", "1")],
  ])("%s is OK without a limit", async (_, domain, descriptor) => {
    expect(await server.ask(domain, [descriptor])).toEqual({
      code: "OK",
      statuses: [{ code: "OK", remaining: 0 }],
      headers: {},
    })
  })
  test("an unlimited rule is OK with 4294967295 left and without a limit", async () => {
    expect(await ask(on("free", "1"))).toEqual({
      code: "OK",
      statuses: [{ code: "OK", remaining: 4_294_967_295 }],
      headers: {},
    })
  })
})

describe("limits", () => {
  test("a limit admits exactly its requests, and says what is left", async () => {
    const left = []
    for (let i = 0; i < 5; i += 1) left.push((await ask(on("ip", "exactly"))).statuses[0])
    expect(left.map((each) => [each?.code, each?.remaining])).toEqual([
      ...[
        ["OK", 2],
        ["OK", 1],
        ["OK", 0],
      ],
      ...[
        ["OVER_LIMIT", 0],
        ["OVER_LIMIT", 0],
      ],
    ])
  })
  test("a status names the limit, its unit and its name", async () => {
    const { statuses } = await ask(on("named", "1"))
    expect(statuses[0]?.limit).toEqual({ requests: 4, unit: "YEAR", name: "per-name" })
  })
  test("duration_until_reset is the whole seconds until the end of the year of 365 days", async () => {
    const year = 365 * 86_400
    const { statuses } = await ask(on("ip", "reset"))
    const expected = year - ((Date.now() / 1_000) % year)
    expect(Math.abs((statuses[0]?.reset ?? 0) - expected)).toBeLessThan(3)
  })
  test("each value of a rule without a value has a counter of its own", async () => {
    expect(await admitted(9, on("ip", "own-1"))).toBe(3)
    expect(await admitted(9, on("ip", "own-2"))).toBe(3)
  })
  test("equal rules of two domains have counters of their own", async () => {
    expect(await admitted(9, on("ip", "domains"))).toBe(3)
    expect((await server.ask("other-shop", [on("ip", "domains")])).statuses[0]?.remaining).toBe(2)
  })
  test("key and value match before the key alone", async () => {
    expect(await admitted(9, on("ip", "10.0.0.1"))).toBe(5)
  })
  test("a value that is a number in the file matches its text in the file", async () => {
    expect(await admitted(9, on("code", "007"))).toBe(2)
    expect((await ask(on("code", "7"))).statuses[0]?.limit).toBeUndefined()
  })
  test("requests_per_unit 0 denies everything", async () => {
    const { code, statuses } = await ask(on("ip", "10.9.9.9"))
    expect(code).toBe("OVER_LIMIT")
    expect(statuses[0]).toMatchObject({
      code: "OVER_LIMIT",
      limit: { requests: 0, unit: "YEAR" },
      remaining: 0,
    })
  })
  test("a nested rule applies at its depth, and values match before keys there too", async () => {
    expect(await admitted(9, on("service", "mail", "to", "staff"))).toBe(2)
    expect(await admitted(9, on("service", "mail", "to", "boss"))).toBe(1)
    expect(await admitted(9, on("service", "mail", "via", "x", "to", "boss"))).toBe(1)
    expect((await ask(on("service", "mail", "via", "x"))).statuses[0]?.limit?.requests).toBe(9)
  })
  test("the order of entries matters", async () => {
    expect((await ask(on("to", "staff", "service", "mail"))).statuses[0]?.limit).toBeUndefined()
  })
  test.each([
    ["braces", "{a}{b}"],
    ["a newline", "a\nb"],
    ["NUL", "a\0b"],
    ["emoji", "🙂🙂"],
    ["separators", "a/b=c%2f"],
    ["10 kB", "x".repeat(10_000)],
    ["nothing", ""],
    ["the name of a method of objects", "__proto__"],
  ])("a value of %s has a counter of its own", async (_, value) => {
    expect(await admitted(9, on("ip", value))).toBe(3)
    expect(await admitted(9, on("ip", `${value}2`))).toBe(3)
  })
  test("values that only look like two entries do not share a counter", async () => {
    expect(await admitted(9, on("service", "mail", "via", "a/to=b"))).toBe(9)
    expect((await ask(on("service", "mail", "via", "a", "to", "b"))).code).toBe("OK")
  })
})

describe("wildcards", () => {
  test("the first wildcard in the file wins", async () => {
    expect((await ask(on("ip", "10.7.7.7"))).statuses[0]?.limit?.requests).toBe(7)
  })
  test("each value that a wildcard matches has a counter of its own", async () => {
    expect(await admitted(9, on("ip", "10.7.0.1"))).toBe(7)
    expect(await admitted(9, on("ip", "10.7.0.2"))).toBe(7)
  })
  test("with share_threshold, all values of a wildcard share a counter", async () => {
    expect(await admitted(9, on("files", "/img/a.png"))).toBe(2)
    expect((await ask(on("files", "/img/b.png"))).code).toBe("OVER_LIMIT")
    expect((await ask(on("files", "/img/b.jpg"))).statuses[0]?.limit).toBeUndefined()
  })
  test.each([
    ["abc", true],
    ["a1b2c", true],
    ["abbcc", true],
    ["ab", false],
    ["acb", false],
    ["xabc", false],
    ["abcx", false],
  ])("the pattern a*b*c matches %s: %s", async (value, matches) => {
    expect((await ask(on("route", value))).statuses[0]?.limit !== undefined).toBe(matches)
  })
})

describe("hits", () => {
  test("hits_addend of the request counts for every descriptor", async () => {
    const { statuses } = await server.ask("shop", [on("global", "hits"), on("other", "hits")], 4)
    expect(statuses.map((each) => each.remaining)).toEqual([6, 6])
  })
  test("hits_addend 0 of the request means 1", async () => {
    expect((await server.ask("shop", [on("global", "zero")], 0)).statuses[0]?.remaining).toBe(9)
  })
  test("hits_addend of a descriptor beats that of the request", async () => {
    const descriptors = [{ ...on("global", "own"), hits: 7 }, on("other", "own")]
    expect((await server.ask("shop", descriptors, 2)).statuses.map((each) => each.remaining)).toEqual([3, 8])
  })
  test("hits that do not fit are denied and charge nothing", async () => {
    const { code, statuses } = await ask({ ...on("global", "fit"), hits: 11 })
    expect([code, statuses[0]?.remaining]).toEqual(["OVER_LIMIT", 0])
    expect(await remaining(on("global", "fit"))).toBe(10)
  })
  test("hits of 0 ask without counting", async () => {
    for (let i = 0; i < 20; i += 1) await ask({ ...on("global", "peek"), hits: 0 })
    expect(await remaining(on("global", "peek"))).toBe(10)
  })
  test("hits of 0 are over the limit if one more hit would not pass", async () => {
    await ask({ ...on("global", "peek-over"), hits: 10 })
    const { code, statuses } = await ask({ ...on("global", "peek-over"), hits: 0 })
    expect([code, statuses[0]?.code]).toEqual(["OVER_LIMIT", "OVER_LIMIT"])
  })
  test("hits of 0 that are over the limit keep the other descriptors from being charged", async () => {
    await ask({ ...on("global", "guard"), hits: 10 })
    expect((await ask({ ...on("global", "guard"), hits: 0 }, on("other", "guard"))).code).toBe("OVER_LIMIT")
    expect(await remaining(on("other", "guard"))).toBe(10)
  })
  test("negative hits are given back", async () => {
    await ask({ ...on("global", "back"), hits: 10 })
    const { code, statuses } = await ask({ ...on("global", "back"), hits: 4, isNegative: true })
    expect([code, statuses[0]?.remaining]).toEqual(["OK", 4])
  })
  test("negative hits never leave more than the limit", async () => {
    await ask({ ...on("global", "floor"), hits: 2 })
    await ask({ ...on("global", "floor"), hits: 500, isNegative: true })
    expect(await remaining(on("global", "floor"))).toBe(10)
  })
  test("negative hits are OK even if nothing is left after them", async () => {
    await ask({ ...on("counted", "debt"), hits: 5 })
    await ask({ ...on("counted", "debt"), hits: 5 })
    expect((await ask({ ...on("counted", "debt"), hits: 1, isNegative: true })).code).toBe("OK")
  })
  test("negative hits on a limit of 0 are OK", async () => {
    expect((await ask({ ...on("ip", "10.9.9.9"), hits: 1, isNegative: true })).code).toBe("OK")
  })
  test("negative hits of 0 ask without counting", async () => {
    await ask({ ...on("global", "minus-zero"), hits: 0, isNegative: true })
    expect(await remaining(on("global", "minus-zero"))).toBe(10)
  })
  test.each([
    ["2^32 - 1", 4_294_967_295n],
    ["2^53", 9_007_199_254_740_992n],
    ["2^64 - 1", 18_446_744_073_709_551_615n],
  ])("hits of %s are denied and charge nothing", async (name, hits) => {
    expect((await ask({ ...on("global", name), hits })).code).toBe("OVER_LIMIT")
    expect(await remaining(on("global", name))).toBe(10)
  })
  test("negative hits of 2^64 - 1 give back everything", async () => {
    await ask({ ...on("global", "all-back"), hits: 10 })
    await ask({ ...on("global", "all-back"), hits: 18_446_744_073_709_551_615n, isNegative: true })
    expect(await remaining(on("global", "all-back"))).toBe(10)
  })
  test("hits of 2^64 - 1 that are counted although denied leave a debt, and no error", async () => {
    const huge = { ...on("counted", "huge"), hits: 18_446_744_073_709_551_615n }
    expect((await ask(huge)).code).toBe("OVER_LIMIT")
    expect((await ask(on("counted", "huge"))).code).toBe("OVER_LIMIT")
  })
})

describe("several descriptors", () => {
  test("statuses stand in the order of the descriptors", async () => {
    const { statuses } = await ask(
      on("nokey", "x"),
      on("ip", "order"),
      on("free", "x"),
      on("global", "order"),
    )
    expect(statuses.map((each) => each.limit?.requests ?? each.remaining)).toEqual([0, 3, 4_294_967_295, 10])
  })
  test("one descriptor over its limit denies the request, and the others are charged nothing", async () => {
    expect(await admitted(9, on("ip", "atomic"), on("global", "atomic"))).toBe(3)
    const { statuses } = await ask(on("ip", "atomic"), on("global", "atomic"))
    expect(statuses.map((each) => each.code)).toEqual(["OVER_LIMIT", "OK"])
    expect(await remaining(on("global", "atomic"))).toBe(7)
  })
  test("a limit of 0 denies the request, and the others are charged nothing", async () => {
    const { code, statuses } = await ask(on("global", "with-zero"), on("ip", "10.9.9.9"))
    expect([code, ...statuses.map((each) => each.code)]).toEqual(["OVER_LIMIT", "OK", "OVER_LIMIT"])
    expect(await remaining(on("global", "with-zero"))).toBe(10)
  })
  test("one counter that stands twice is charged the sum, and both statuses are the same", async () => {
    const twice = [
      { ...on("global", "twice"), hits: 2 },
      { ...on("global", "twice"), hits: 3 },
    ]
    const { statuses } = await ask(...twice)
    expect(statuses.map((each) => each.remaining)).toEqual([5, 5])
    expect((await ask(...twice)).code).toBe("OK")
    expect((await ask(...twice)).statuses.map((each) => each.code)).toEqual(["OVER_LIMIT", "OVER_LIMIT"])
  })
  test("two keys of one rule are told apart", async () => {
    await ask({ ...on("ip", "left"), hits: 3 })
    const { statuses } = await ask(on("ip", "left"), on("ip", "right"))
    expect(statuses.map((each) => [each.code, each.remaining])).toEqual([
      ["OVER_LIMIT", 0],
      ["OK", 3],
    ])
  })
  test("headers are those of the descriptor with the least left", async () => {
    const { headers } = await ask(on("global", "headers"), on("ip", "headers"), on("free", "x"))
    expect(headers).toEqual({
      "RateLimit-Limit": "3",
      "RateLimit-Remaining": "2",
      "RateLimit-Reset": expect.stringMatching(/^[1-9]\d*$/),
    })
  })
})

describe("rules that replace others", () => {
  test("a rule that is replaced is not charged, and has no limit in its status", async () => {
    const { code, statuses } = await ask(on("base", "r"), on("special", "r"))
    expect([code, statuses[0], statuses[1]?.remaining]).toEqual(["OK", { code: "OK", remaining: 0 }, 1])
    expect((await ask(on("base", "r"))).statuses[0]?.remaining).toBe(0)
  })
  test("a rule that is alone is not replaced", async () => {
    expect(await admitted(9, on("base", "alone"))).toBe(1)
  })
  test("an unlimited rule and a policy of ours replace too", async () => {
    await ask(on("base", "vip"))
    expect((await ask(on("base", "vip"))).code).toBe("OVER_LIMIT")
    expect((await ask(on("base", "vip"), on("vip", "x"))).code).toBe("OK")
    expect((await ask(on("base", "vip"), on("ours", "x"))).statuses[1]?.limit?.name).toBe("ours")
  })
})

describe("shadow mode", () => {
  test("a rule in shadow mode counts and never denies", async () => {
    const seen = []
    for (let i = 0; i < 4; i += 1) seen.push((await ask(on("shadow", "s"))).statuses[0])
    expect(seen.map((each) => [each?.code, each?.remaining])).toEqual([
      ["OK", 1],
      ["OK", 0],
      ["OK", 0],
      ["OK", 0],
    ])
  })
  test("a limit of 0 in shadow mode passes", async () => {
    expect((await ask(on("shadow", "blocked"))).code).toBe("OK")
  })
  test("a rule in shadow mode that is over its limit denies no other, and the others are charged", async () => {
    await ask({ ...on("shadow", "mixed"), hits: 2 })
    expect(
      (await ask(on("shadow", "mixed"), on("global", "mixed"))).statuses.map((each) => each.code),
    ).toEqual(["OK", "OK"])
    expect(await remaining(on("global", "mixed"))).toBe(9)
  })
  test("two rules in shadow mode are charged on their own", async () => {
    await ask({ ...on("shadow", "full"), hits: 2 })
    const { statuses } = await ask(on("shadow", "full"), on("shadow", "empty"))
    expect(statuses.map((each) => each.remaining)).toEqual([0, 1])
  })
  test("a denied request does not count in shadow mode", async () => {
    await ask(on("ip", "10.9.9.9"), on("shadow", "uncounted"))
    expect(await remaining(on("shadow", "uncounted"))).toBe(2)
  })
})

describe("quota mode", () => {
  test("quotas deny only when all of them are over, and each is charged alone", async () => {
    const both = [on("quota", "a"), on("quota", "b")]
    const seen = []
    for (let i = 0; i < 3; i += 1) {
      const { code, statuses } = await ask(...both)
      seen.push([code, ...statuses.map((each) => each.code)])
    }
    expect(seen).toEqual([
      ["OK", "OK", "OK"],
      ["OK", "OVER_LIMIT", "OK"],
      ["OVER_LIMIT", "OVER_LIMIT", "OVER_LIMIT"],
    ])
  })
  test("quotas that are all over keep the other descriptors from being charged", async () => {
    expect((await ask(on("quota", "a"), on("global", "quota"))).code).toBe("OVER_LIMIT")
    expect(await remaining(on("global", "quota"))).toBe(10)
  })
})

describe("count_denied", () => {
  test("hits above the limit count, so a report at the end of a stream is never lost", async () => {
    await ask({ ...on("counted", "tokens"), hits: 4 })
    expect((await ask({ ...on("counted", "tokens"), hits: 3 })).code).toBe("OVER_LIMIT")
    expect((await ask({ ...on("counted", "tokens"), hits: 0 })).code).toBe("OVER_LIMIT")
    await ask({ ...on("counted", "tokens"), hits: 3, isNegative: true })
    expect(await remaining(on("counted", "tokens"))).toBe(1)
  })
  test("without count_denied, the same report would be lost", async () => {
    await ask({ ...on("global", "tokens"), hits: 9 })
    expect((await ask({ ...on("global", "tokens"), hits: 3 })).code).toBe("OVER_LIMIT")
    expect(await remaining(on("global", "tokens"))).toBe(1)
  })
  test("a rule that counts denied hits and is over keeps the others from being charged", async () => {
    await ask({ ...on("counted", "guard"), hits: 5 })
    expect((await ask(on("counted", "guard"), on("global", "counted"))).code).toBe("OVER_LIMIT")
    expect(await remaining(on("global", "counted"))).toBe(10)
  })
})

describe("policies of our own", () => {
  test("a token bucket has the unit in which it fills", async () => {
    expect(await admitted(9, on("bucket", "b"))).toBe(6)
    expect((await ask(on("bucket", "b2"))).statuses[0]?.limit).toEqual({ requests: 6, unit: "YEAR" })
  })
  test("several policies of a rule are charged all or nothing, and the tightest is told", async () => {
    const first = await ask(on("several", "s"))
    expect(first.statuses[0]).toMatchObject({ limit: { requests: 2, unit: "YEAR" }, remaining: 1 })
    expect((await ask({ ...on("several", "s2"), hits: 2 })).statuses[0]?.remaining).toBe(0)
    expect(await admitted(9, on("several", "s3"), on("global", "s3"))).toBe(2)
    await ask({ ...on("several", "s3"), hits: 2, isNegative: true })
    expect(await remaining(on("several", "s3"))).toBe(2)
  })
})

describe("limits that come with a request", () => {
  const with_ = (descriptor: Descriptor, requestsPerUnit: number, unit = 6) => ({
    ...descriptor,
    limit: { requestsPerUnit, unit },
  })

  test("a limit of the request beats the configured one", async () => {
    expect(await admitted(9, with_(on("ip", "o"), 2))).toBe(2)
    expect((await ask(with_(on("ip", "o"), 2))).statuses[0]?.limit).toEqual({ requests: 2, unit: "YEAR" })
  })
  test.each(units.slice(1).map((name, i) => [name, i + 1] as const))(
    "a limit of the request may have the unit %s",
    async (name, unit) => {
      expect((await ask(with_(on("any", "unit"), 5, unit))).statuses[0]?.limit).toEqual({
        requests: 5,
        unit: name,
      })
    },
  )
  test.each([0, 8, 2_147_483_647])("the unit %d is an invalid argument", async (unit) => {
    expect(await failure(ask(with_(on("any", "unit"), 5, unit)))).toMatchObject({
      code: status.INVALID_ARGUMENT,
    })
  })
  test("a limit of the request applies where no rule does", async () => {
    expect(await admitted(9, with_(on("nokey", "o"), 2))).toBe(2)
    expect(await admitted(9, with_(on(), 2))).toBe(2)
  })
  test("a limit of the request does not apply in an unknown domain", async () => {
    const { statuses } = await server.ask("nowhere", [with_(on("ip", "o"), 0)])
    expect(statuses).toEqual([{ code: "OK", remaining: 0 }])
  })
  test("a limit of the request turns shadow mode off", async () => {
    expect(await admitted(9, with_(on("shadow", "o"), 1))).toBe(1)
  })
  test("a limit of 0 in a request denies everything", async () => {
    expect((await ask(with_(on("ip", "o0"), 0))).code).toBe("OVER_LIMIT")
  })
  test("a limit of the request leaves the counter of the rule alone", async () => {
    expect(await admitted(9, with_(on("ip", "apart"), 1))).toBe(1)
    expect(await admitted(9, on("ip", "apart"))).toBe(3)
  })
  test("a low limit of one request does not deny a higher one of the next", async () => {
    expect(await admitted(9, with_(on("ip", "poison"), 2))).toBe(2)
    const high = await ask(with_(on("ip", "poison"), 100))
    expect([high.code, high.statuses[0]?.remaining]).toEqual(["OK", 97])
  })
  test("limits of two units have counters of their own", async () => {
    expect(await admitted(9, with_(on("ip", "units"), 2, 6))).toBe(2)
    expect(await admitted(9, with_(on("ip", "units"), 2, 5))).toBe(2)
  })
  test("two limits for one counter in a request: the lower one applies to the sum", async () => {
    const { statuses } = await ask(with_(on("ip", "two"), 9), with_(on("ip", "two"), 3))
    expect(statuses.map((each) => [each.limit?.requests, each.remaining])).toEqual([
      [3, 1],
      [3, 1],
    ])
  })
})

test("clients can share a connection or have one each", async () => {
  const another = rlsClient(server.port)
  expect((await another.ask("shop", [on("ip", "another")])).code).toBe("OK")
  another.close()
})

test("a reload changes the answers and keeps the counters", async () => {
  const own = await startRls(`domain: d\ndescriptors: [{ key: k, ${limit(2)} }]`)
  const { readConfig } = await import("../../src/config/read-config.js")
  await own.ask("d", [on("k", "v")])
  own.engine.reload(
    readConfig([{ name: "f", text: `domain: d\ndescriptors: [{ key: k, ${limit(5)} }]` }], {}),
  )
  expect((await own.ask("d", [on("k", "v")])).statuses[0]?.remaining).toBe(3)
  await own.stop()
})
