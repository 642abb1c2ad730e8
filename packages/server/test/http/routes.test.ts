import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { defaultConfig, type HttpRig, startHttp } from "./http-rig.js"

const quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"
let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** Each test uses keys of its own on the shared Redis. */
let count = 0
const freshKey = () => `key-${++count}`

describe.each(["memory", "redis"])("the HTTP API on the %s store", (store) => {
  let rig: HttpRig
  let key: string
  beforeEach(async () => {
    rig = await startHttp({ config: `store: ${store === "memory" ? store : redis.url}\n${defaultConfig}` })
    key = freshKey()
  })
  afterEach(() => rig.stop())
  const on = (what: string, body: object, limiter = "api") =>
    rig.post(`/v1/limiters/${limiter}/${what}`, body)

  test("acquire answers 200 with the decision until the limit, then 429 with a problem and Retry-After", async () => {
    for (const remaining of [2, 1, 0]) {
      const { status, json, headers } = await on("acquire", { key })
      expect(status).toBe(200)
      expect(json).toMatchObject({ allowed: true, limit: 3, remaining, retryAfter: 0, degraded: false })
      expect(headers.get("ratelimit-policy")).toBe('"api";q=3;w=3600')
      expect(headers.get("ratelimit")).toBe(`"api";r=${remaining};t=3600`)
      expect(headers.get("content-type")).toContain("application/json")
    }
    const { status, json, headers } = await on("acquire", { key })
    expect(status).toBe(429)
    expect(json).toMatchObject({
      type: quotaExceeded,
      status: 429,
      "violated-policies": ["api"],
      decision: { allowed: false, remaining: 0, policy: "default" },
    })
    expect(json.detail).toMatch(/has no room for this cost; retry in \d+ ms/)
    expect(headers.get("content-type")).toContain("application/problem+json")
    expect(headers.get("cache-control")).toBe("no-store")
    expect(Number(headers.get("retry-after"))).toBe(Math.ceil(json.decision.retryAfter / 1_000))
  })

  test("a cost above the limit is denied with retryAfter null and without Retry-After", async () => {
    const { status, json, headers } = await on("acquire", { key, cost: 4 })
    expect(status).toBe(429)
    expect(json.decision.retryAfter).toBeNull()
    expect(json.detail).toContain("exceeds the most that policy default can grant, 3")
    expect(headers.has("retry-after")).toBe(false)
  })

  test("costs by policy name are charged to each policy, and the decision lists them", async () => {
    const { json, headers } = await on("acquire", { key, cost: { tokens: 400 } }, "plans")
    expect(json.policies).toMatchObject([
      { policy: "requests", remaining: 2 },
      { policy: "tokens", remaining: 600 },
    ])
    expect(headers.get("ratelimit-policy")).toContain('"tokens";q=1000')
  })

  test("peek decides with 200, allowed or not, and spends nothing", async () => {
    for (let i = 0; i < 2; i += 1) {
      const { status, json } = await on("peek", { key, cost: 3 })
      expect([status, json.allowed, json.remaining]).toEqual([200, true, 3])
    }
    const { status, json } = await on("peek", { key, cost: 4 })
    expect([status, json.allowed]).toEqual([200, false])
  })

  test("charge spends past the limit and answers 200", async () => {
    expect((await on("charge", { key, cost: 3 })).json).toMatchObject({ allowed: true, remaining: 0 })
    const { status, json } = await on("charge", { key, cost: 2 })
    expect([status, json.allowed]).toEqual([200, false])
  })

  test("a reservation is settled once, and cancelled at a cost of 0", async () => {
    const { status, json } = await on("reserve", { key, cost: 3, ttl: "1m" })
    expect([status, json.decision.remaining]).toEqual([200, 0])
    const settle = { key, id: json.id, cost: 1 }
    expect((await on("settle", settle)).json).toEqual({ settled: true })
    expect((await on("settle", settle)).json).toEqual({ settled: false })
    expect((await on("peek", { key })).json.remaining).toBe(2)
    const { id } = (await on("reserve", { key, cost: 2 })).json
    expect((await on("cancel", { key, id })).json).toEqual({ settled: true })
    expect((await on("peek", { key })).json.remaining).toBe(2)
  })

  test("a denied reservation is 429 with the decision and has no id", async () => {
    const { status, json } = await on("reserve", { key, cost: 4 })
    expect(status).toBe(429)
    expect(json.decision.allowed).toBe(false)
    expect(json).not.toHaveProperty("id")
  })

  test("operators refund, reset and inspect a key", async () => {
    await on("acquire", { key, cost: 3 })
    expect((await on("refund", { key, cost: 2 })).status).toBe(204)
    const inspection = (await on("inspect", { key })).json
    expect(inspection).toMatchObject({ key, mode: "enforce", policies: [{ used: 1, remaining: 2 }] })
    expect((await rig.call("GET", `/v1/limiters/api/inspect?key=${key}`)).json).toMatchObject({
      ...inspection,
      policies: [{ used: 1 }],
    })
    expect((await on("reset", { key })).status).toBe(204)
    expect((await on("peek", { key })).json.remaining).toBe(3)
  })

  test("rules block, allow and limit keys, are listed, removed, and kept in the history", async () => {
    const put = (rule: object) => rig.call("PUT", "/v1/rules", { limiter: "api", ...rule })
    const until = new Date(Date.now() + 60_000).toISOString()
    expect((await put({ key, action: "block", reason: "abuse", by: "ops", until })).status).toBe(204)
    const blocked = await on("acquire", { key })
    expect([blocked.status, blocked.json.decision.source]).toEqual([429, "rule"])
    expect(blocked.json.detail).toMatch(/^a rule blocks this key; retry in \d+ ms/)
    const listed = (await rig.call("GET", "/v1/rules?limiter=api")).json
    expect(listed).toContainEqual({ limiter: "api", key, action: "block", reason: "abuse", by: "ops", until })
    expect((await on("inspect", { key })).json.rule).toMatchObject({ action: "block", until })

    const policy = { algorithm: "fixedWindow", limit: 50, window: "1h" }
    expect((await put({ key, action: "limit", policy, until: "1h" })).status).toBe(204)
    expect((await on("acquire", { key })).json).toMatchObject({ allowed: true, limit: 50 })
    expect((await put({ pattern: `${key}*`, action: "allow" })).status).toBe(204)
    expect((await on("acquire", { key: `${key}x` })).json.source).toBe("rule")

    const remove = (rule: object) => rig.call("DELETE", "/v1/rules", { limiter: "api", ...rule })
    expect((await remove({ key })).json).toEqual({ removed: true })
    expect((await remove({ key })).json).toEqual({ removed: false })
    expect((await remove({ pattern: `${key}*` })).json).toEqual({ removed: true })
    const changes = (await rig.call("GET", "/v1/rules/history?limiter=api&count=2")).json
    expect(changes).toMatchObject([
      { action: "remove", pattern: `${key}*` },
      { action: "remove", key },
    ])
  })

  test("the limiters and the busiest keys are listed", async () => {
    await on("acquire", { key })
    const { json } = await rig.call("GET", "/v1/limiters")
    expect(json.map(({ name }: { name: string }) => name)).toEqual([
      ...["api", "queue", "slow", "plans", "watched", "odd name/{x}", "edge/remote_address"],
    ])
    expect((await rig.call("GET", "/v1/limiters/api")).json).toEqual({
      name: "api",
      policies: { default: { algorithm: "fixedWindow", limit: 3, window: 3_600_000, align: "first" } },
      mode: "enforce",
      health: { reachable: true, degraded: 0 },
    })
    const top = (await rig.call("GET", "/v1/top?count=5")).json
    expect(top).toMatchObject([{ limiter: "api", busiest: { keys: [{ key, count: 1 }], total: 1 } }])
  })

  test("limiters of descriptors and limiters with odd names are called by their encoded names", async () => {
    const encoded = encodeURIComponent("odd name/{x}")
    expect((await on("acquire", { key }, encoded)).json.remaining).toBe(2)
    expect((await on("peek", { key }, encodeURIComponent("edge/remote_address"))).json.limit).toBe(2)
  })

  test("a limiter that observes lets the request pass and says so", async () => {
    await on("acquire", { key }, "watched")
    const { status, json } = await on("acquire", { key }, "watched")
    expect([status, json.observed]).toEqual([200, "denied"])
  })

  test.each([
    ["braces", "{a}:{b}"],
    ["a newline and NUL", "a\nb\u0000c"],
    ["emoji", "🦀".repeat(500)],
    ["a lone surrogate", "\ud800"],
    ["8,192 characters", "k".repeat(8_192)],
    ["the name of a prototype", "__proto__"],
  ])("a key of %s has a counter of its own", async (_, odd) => {
    await on("reset", { key: odd })
    expect((await on("acquire", { key: odd })).json.remaining).toBe(2)
    expect((await on("acquire", { key: odd })).json.remaining).toBe(1)
    expect((await on("acquire", { key: `${odd.slice(0, 100)}-` })).status).toBe(200)
    await on("reset", { key: `${odd.slice(0, 100)}-` })
  })

  test("an atomic batch charges all or nothing", async () => {
    const requests = [
      { limiter: "api", key, cost: 2 },
      { limiter: "plans", key },
    ]
    const first = await rig.post("/v1/batch", { atomic: true, requests })
    expect([first.status, first.json.decision.allowed]).toEqual([200, true])
    expect(first.headers.get("ratelimit")).toContain('"plans:tokens"')
    const second = await rig.post("/v1/batch", { atomic: true, requests })
    expect([second.status, second.json.decision.policy]).toEqual([429, "api:default"])
    expect((await on("peek", { key }, "plans")).json.policies[0].remaining).toBe(2)
    const peek = requests.map((request) => ({ ...request, call: "peek" }))
    const third = await rig.post("/v1/batch", { atomic: true, requests: peek })
    expect([third.status, third.json.decision.allowed]).toEqual([200, false])
  })

  test("a batch decides each request by itself and answers in their order", async () => {
    const requests = [
      { limiter: "api", key, cost: 3 },
      { limiter: "api", key, call: "peek" },
      { limiter: "plans", key, cost: { tokens: 5 } },
    ]
    const { status, json } = await rig.post("/v1/batch", { requests })
    expect(status).toBe(200)
    expect(json.results.map(({ decision }: { decision: { allowed: boolean } }) => decision.allowed)).toEqual([
      true,
      false,
      true,
    ])
  })
})

describe("an outage", () => {
  test("calls answer 503 with the registered type while the store is gone, and readyz fails", async () => {
    const own = await startRedis()
    const rig = await startHttp({
      config: `store: ${own.url}\noutage: { deadline: 300ms }\n${defaultConfig}
  - key: closed
`.replace(
        "  watched:",
        "  shut: { policy: { algorithm: fixedWindow, limit: 3, window: 1h }, outage: { then: closed, deadline: 300ms } }\n  watched:",
      ),
    })
    try {
      expect((await rig.call("GET", "/readyz")).status).toBe(200)
      await own.kill()
      const { status, json, headers } = await rig.post("/v1/limiters/api/acquire", { key: "k" })
      expect(status).toBe(503)
      expect(json.type).toBe("https://iana.org/assignments/http-problem-types#temporary-reduced-capacity")
      expect(json.code).toMatch(/^STORE_/)
      expect(json.detail).not.toBe("")
      expect(headers.get("retry-after")).toBe("1")
      const shut = await rig.post("/v1/limiters/shut/acquire", { key: "k" })
      expect([shut.status, shut.json.decision.degraded]).toEqual([503, true])
      expect((await rig.call("GET", "/v1/nginx/shut")).status).toBe(403)
      expect((await rig.call("GET", "/v1/nginx/api")).status).toBe(503)
      expect((await rig.call("GET", "/readyz")).status).toBe(503)
      expect((await rig.call("GET", "/healthz")).status).toBe(200)
      const batch = await rig.post("/v1/batch", { requests: [{ limiter: "api", key: "k" }] })
      expect([batch.status, batch.json.results[0].problem.status]).toEqual([200, 503])
    } finally {
      await rig.stop()
      await own.stop()
    }
  })
})
