import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type HttpRig, startHttp } from "./http-rig.js"

let rig: HttpRig
beforeAll(async () => {
  rig = await startHttp()
})
afterAll(() => rig.stop())

const acquire = "/v1/limiters/api/acquire"

/** No test in this file may charge this key. */
const key = "untouched"
const remaining = async () => (await rig.post("/v1/limiters/api/peek", { key })).json.remaining

const bodies: [what: string, body: unknown, detail: RegExp][] = [
  ["without a key", {}, /^the body needs key$/],
  ["with an empty key", { key: "" }, /^key must be a text of 1 to 8,192 characters, got ""$/],
  ["with a number as its key", { key: 42 }, /^key must be a text of 1 to 8,192 characters, got 42$/],
  ["with a key of 8,193 characters", { key: "k".repeat(8_193) }, /^key must be a text/],
  ["with a cost of 0", { key, cost: 0 }, /^cost must be an integer from 1 to 2\^53 - 1, .*got 0$/],
  ["with a negative cost", { key, cost: -1 }, /^cost must be .*got -1$/],
  ["with half a unit", { key, cost: 1.5 }, /^cost must be .*got 1.5$/],
  ["with a cost as text", { key, cost: "1" }, /^cost must be .*got "1"$/],
  ["with a cost of 2^53", { key, cost: 2 ** 53 }, /^cost must be /],
  ["with a cost of null", { key, cost: null }, /^cost must be .*got null$/],
  ["with a cost for an unknown policy", { key, cost: { x: 1 } }, /cost names "x"/],
  ["with a cost of 0 for all policies", { key, cost: { default: 0 } }, /cost is 0 for every policy/],
  [
    "with a misspelt field",
    { key, costs: 2 },
    /^the body has no field "costs"; it takes key, cost, timeout$/,
  ],
  ["with a policy of its own", { key, policy: { algorithm: "fixedWindow" } }, /no field "policy"/],
  ["with a wrong timeout", { key, timeout: "soon" }, /^timeout must be a duration/],
  ["with a negative timeout", { key, timeout: -5 }, /^timeout must be a duration/],
  ["with a timeout of a million years", { key, timeout: "999999999999d" }, /timeout must be/],
  ["that is an array", [], /^the body must be a JSON object/],
  ["that is a text", '"x"', /^the body must be a JSON object/],
  ["that is null", "null", /^the body must be a JSON object/],
  ["that is broken JSON", '{"key":', /./],
  ["that is empty", "", /empty/],
  ["with NaN", '{"key":"untouched","cost":NaN}', /./],
  ["with a prototype", '{"key":"untouched","__proto__":{"cost":1}}', /./],
]

describe("bad input", () => {
  test.each(bodies)(
    "a body %s is answered with 400, says why, and charges nothing",
    async (_, body, detail) => {
      const answer = await rig.post(acquire, body)
      expect([answer.status, answer.json?.status], answer.text).toEqual([400, 400])
      expect(answer.json.detail).toMatch(detail)
      expect(answer.headers.get("content-type")).toContain("application/problem+json")
      expect(await remaining()).toBe(3)
    },
  )

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml"])(
    "a body of type %s is answered with 415",
    async (type) => {
      for (const path of [acquire, "/v1/limiters/api/reset", "/v1/rules"]) {
        const method = path === "/v1/rules" ? "PUT" : "POST"
        const answer = await rig.call(method, path, `{"key":"${key}"}`, { "content-type": type })
        expect(answer.status, path).toBe(415)
        expect(answer.json.detail).toBe("the body must be JSON; send Content-Type: application/json")
      }
      expect(await remaining()).toBe(3)
      const ofPage = { "content-type": type, origin: "https://example.com" }
      expect((await rig.call("POST", "/json", "{}", ofPage)).status).toBe(415)
    },
  )

  test("a body over 64 kB is answered with 413, a batch over 256 kB too", async () => {
    const large = { key, padding: "x".repeat(65 * 1024) }
    expect((await rig.post(acquire, large)).status).toBe(413)
    const batch = { requests: [{ limiter: "api", key }], padding: "x".repeat(100 * 1024) }
    expect((await rig.post("/v1/batch", batch)).status).toBe(400)
    expect((await rig.post("/v1/batch", { ...batch, padding: "x".repeat(257 * 1024) })).status).toBe(413)
    expect(await remaining()).toBe(3)
  })

  test("an unknown limiter is answered with 404, and other limiters are not listed", async () => {
    for (const what of [
      "acquire",
      "peek",
      "charge",
      "reserve",
      "settle",
      "cancel",
      "refund",
      "reset",
      "inspect",
    ]) {
      const { status, json } = await rig.post(`/v1/limiters/nope/${what}`, {
        key,
        ...(["charge", "refund", "settle"].includes(what) && { cost: 1 }),
        ...(["settle", "cancel"].includes(what) && { id: "x" }),
      })
      expect([what, status, json.detail]).toEqual([what, 404, 'no limiter is called "nope"'])
    }
    expect((await rig.call("GET", "/v1/nginx/nope")).status).toBe(404)
    expect((await rig.call("GET", "/v1/limiters/nope")).status).toBe(404)
    expect((await rig.post("/v1/limiters/__proto__/acquire", { key })).status).toBe(404)
  })

  test("an unknown route, method or a broken URL is a problem of status 404, 400 or 414", async () => {
    for (const [method, path, status] of [
      ["GET", "/nope", 404],
      ["GET", acquire, 404],
      ["POST", "/v1/limiters/%E0%A4%A/acquire", 400],
      ["POST", `/v1/limiters/${"x".repeat(5_000)}/acquire`, 414],
    ] as const) {
      const answer = await rig.call(method, path, method === "POST" ? { key } : undefined)
      expect([path.slice(0, 40), answer.status, answer.json?.status]).toEqual([
        path.slice(0, 40),
        status,
        status,
      ])
      expect(answer.json.detail.length).toBeLessThan(200)
    }
  })

  test.each([
    ["an id of nothing", { key, id: "x", cost: 1 }, /id must be that of a reservation/],
    [
      "an id of another policy",
      { key, id: `${"0".repeat(32)}?other=1fw`, cost: 1 },
      /reserved under another policy/,
    ],
    ["no cost", { key, id: "x" }, /^the body needs cost$/],
  ])("a settlement with %s is answered with 400", async (_, body, detail) => {
    const { status, json } = await rig.post("/v1/limiters/api/settle", body)
    expect(status).toBe(400)
    expect(json.detail).toMatch(detail)
  })

  test("a number as the cost of several policies is answered with 400 and the names of the policies", async () => {
    const { status, json } = await rig.post("/v1/limiters/plans/charge", { key, cost: 5 })
    expect([status, json.code]).toEqual([400, "INVALID_COST"])
    expect(json.detail).toContain('"tokens"')
  })

  test.each([
    ["without requests", { requests: [] }, 400, /^requests must be an array of 1 to 64 requests/],
    ["of 65", { requests: Array.from({ length: 65 }, () => ({ limiter: "api", key })) }, 400, /1 to 64/],
    [
      "with an unknown limiter",
      {
        requests: [
          { limiter: "api", key },
          { limiter: "x", key },
        ],
      },
      404,
      /^requests\[1\]: no limiter/,
    ],
    [
      "with a wrong cost",
      {
        requests: [
          { limiter: "api", key },
          { limiter: "plans", key, cost: 5 },
        ],
      },
      400,
      /^requests\[1\]: cost must be/,
    ],
    [
      "with an invalid cost",
      {
        requests: [
          { limiter: "api", key },
          { limiter: "api", key, cost: -1 },
        ],
      },
      400,
      /^requests\[1\]\.cost must be/,
    ],
    [
      "with an unknown call",
      { requests: [{ limiter: "api", key, call: "reset" }] },
      400,
      /^requests\[0\]\.call must be "acquire" or "peek"/,
    ],
    [
      "that is atomic and mixes calls",
      {
        atomic: true,
        requests: [
          { limiter: "api", key },
          { limiter: "plans", key, call: "peek" },
        ],
      },
      400,
      /all acquire or all peek/,
    ],
    [
      "that is atomic and has a key twice",
      {
        atomic: true,
        requests: [
          { limiter: "api", key },
          { limiter: "api", key },
        ],
      },
      400,
      /combined twice/,
    ],
  ])("a batch %s is refused as a whole and charges nothing", async (_, body, status, detail) => {
    const answer = await rig.post("/v1/batch", body)
    expect(answer.status).toBe(status)
    expect(answer.json.detail).toMatch(detail)
    expect(await remaining()).toBe(3)
  })

  const rule = { limiter: "api", key, action: "limit" }
  test.each([
    ["for an unknown limiter", { ...rule, limiter: "x", action: "block" }, 404, /no limiter is called "x"/],
    ["without a policy", rule, 400, /has a policy if its action is "limit"/],
    ["with a policy for a block", { ...rule, action: "block", policy: {} }, 400, /only then/],
    [
      "of another algorithm",
      { ...rule, policy: { algorithm: "slidingLog", limit: 1, window: "1s" } },
      400,
      /cannot change the algorithm/,
    ],
    [
      "for a policy that the limiter lacks",
      { ...rule, policy: { x: { algorithm: "slidingLog", limit: 1, window: "1s" } } },
      400,
      /has no policy "x"; its policies are default/,
    ],
    [
      "with an unknown algorithm",
      { ...rule, policy: { algorithm: "magic" } },
      400,
      /algorithm must be one of fixedWindow/,
    ],
    [
      "with a bad limit",
      { ...rule, policy: { algorithm: "fixedWindow", limit: -1, window: "1s" } },
      400,
      /limit must be/,
    ],
    ["without a key or pattern", { limiter: "api", action: "block" }, 400, /needs either a key or a pattern/],
    ["with both", { ...rule, action: "block", pattern: "a*" }, 400, /needs either a key or a pattern/],
    [
      "with a star in the middle",
      { limiter: "api", pattern: "a*b", action: "block" },
      400,
      /a prefix and a star/,
    ],
    [
      "that ended yesterday",
      { ...rule, action: "block", until: "2020-01-01T00:00:00Z" },
      400,
      /until must lie ahead/,
    ],
    [
      "that ends on no day",
      { ...rule, action: "block", until: "2030-99-99T00:00:00Z" },
      400,
      /^until must be/,
    ],
    [
      "that ends whenever",
      { ...rule, action: "block", until: "whenever" },
      400,
      /^until must be a duration from now, or a moment/,
    ],
    [
      "with an unknown action",
      { ...rule, action: "ban" },
      400,
      /^action must be "limit", "block" or "allow", got "ban"/,
    ],
  ])("a rule %s is refused", async (_, body, status, detail) => {
    const answer = await rig.call("PUT", "/v1/rules", body)
    expect(answer.json?.detail).toMatch(detail)
    expect(answer.status).toBe(status)
    expect((await rig.call("GET", "/v1/rules")).json).toEqual([])
  })

  test.each([
    "/v1/top?count=0",
    "/v1/top?count=x",
    "/v1/top?count=1001",
    "/v1/top?count=99999999",
    "/v1/rules/history?count=1001",
    "/v1/top?count=1&count=2",
    "/v1/rules/history?count=-1",
    "/v1/top?x=1",
  ])("the query of %s is answered with 400", async (path) => {
    const { status, json } = await rig.call("GET", path)
    expect(status).toBe(400)
    expect(json.detail).toMatch(/^(count must be an integer from 1 to|the query has no field)/)
  })

  test("an inspection without a key is answered with 400", async () => {
    const { status, json } = await rig.call("GET", "/v1/limiters/api/inspect")
    expect([status, json.detail]).toEqual([400, "the query needs key"])
  })

  test.each([
    [431, "GET /healthz HTTP/1.1\r\nhost: x\r\n", `x: ${"y".repeat(20_000)}\r\n\r\n`],
    [400, "nonsense\r\n\r\n", ""],
    [400, "POST /json HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", ""],
  ])(
    "a request that Node cannot parse is answered with %i, and closes the connection",
    async (status, head, rest) => {
      const socket = connect(rig.listener.address.port, "127.0.0.1")
      socket.write(head + rest)
      let text = ""
      for await (const chunk of socket) text += chunk
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(text).toContain("\r\nConnection: close\r\n")
    },
  )

  test("an unexpected error is a 500 that tells the caller nothing, and the log everything but the key", async () => {
    const broken = await startHttp({
      engine: (engine) => ({
        ...engine,
        config: engine.config,
        limiter: () => {
          throw new Error("internal detail")
        },
      }),
    })
    const { status, json } = await broken.post(acquire, { key: "secret-key" })
    expect(status).toBe(500)
    expect(json.detail).not.toContain("internal detail")
    expect(broken.log.at(-1)).toMatchObject({ level: 50, err: { message: "internal detail" } })
    expect(JSON.stringify(broken.log)).not.toContain("secret-key")
    await broken.stop()
  })

  test("no line of the log at level info has a key", async () => {
    const own = await startHttp()
    for (const what of ["acquire", "reset", "inspect"])
      await own.post(`/v1/limiters/api/${what}`, { key: "secret-key" })
    await own.call("PUT", "/v1/rules", { limiter: "api", key: "secret-key", action: "block" })
    await own.call("GET", "/v1/limiters/api/inspect?key=secret-key")
    expect(own.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["reset a key", "set a rule"]))
    expect(JSON.stringify(own.log)).not.toContain("secret-key")
    await own.stop()
  })
})
