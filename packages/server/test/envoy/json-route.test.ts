import Fastify from "fastify"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { envoyJson } from "../../src/envoy/json-route.js"
import { contextOf } from "../grpc/support/rls-server.js"

const config = `
domain: d
descriptors:
  - { key: k, rate_limit: { unit: year, requests_per_unit: 2, name: per-key } }
  - { key: big, rate_limit: { unit: Week, requests_per_unit: 4294967295 } }
`

const { context, engine } = contextOf(config)
const app = Fastify()
beforeAll(() => app.register(envoyJson(context)))
afterAll(async () => {
  await app.close()
  await engine.close()
})

const post = async (payload: unknown, type: string | null = "application/json", more = {}) => {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload)
  const response = await app.inject({
    method: "POST",
    url: "/json",
    payload: text,
    headers: { ...(type !== null && { "content-type": type }), ...more },
  })
  return { status: response.statusCode, body: response.json(), type: response.headers["content-type"] }
}
const on = (key: string, value: string, more = {}) => ({ entries: [{ key, value }], ...more })

test("a request that passes is 200 with statuses in the JSON form of protobuf", async () => {
  const { status, body } = await post({ domain: "d", descriptors: [on("k", "a")] })
  expect(status).toBe(200)
  expect(body).toEqual({
    overallCode: "OK",
    statuses: [
      {
        code: "OK",
        currentLimit: { requestsPerUnit: 2, unit: "YEAR", name: "per-key" },
        limitRemaining: 1,
        durationUntilReset: expect.stringMatching(/^\d+s$/),
      },
    ],
    responseHeadersToAdd: [
      { key: "RateLimit-Limit", value: "2" },
      { key: "RateLimit-Remaining", value: "1" },
      { key: "RateLimit-Reset", value: expect.stringMatching(/^\d+$/) },
    ],
  })
})

test("a request over a limit is 429 with the same form", async () => {
  const { status, body } = await post({ domain: "d", descriptors: [on("k", "b")], hitsAddend: 3 })
  expect([status, body.overallCode, body.statuses[0].code]).toEqual([429, "OVER_LIMIT", "OVER_LIMIT"])
})

test("an unknown descriptor is 200 with a code alone", async () => {
  expect(await post({ domain: "d", descriptors: [on("no", "b")] })).toMatchObject({
    status: 200,
    body: { overallCode: "OK", statuses: [{ code: "OK" }] },
  })
})

test.each([
  ["JSON names", { hitsAddend: 1 }, { hitsAddend: 2 }],
  ["original names", { hits_addend: 1 }, { hits_addend: 2 }],
  ["integers as texts", { hitsAddend: "1" }, { hitsAddend: "2" }],
  ["null for what is not there", { hitsAddend: null }, { hitsAddend: 2, limit: null }],
])("%s are accepted", async (name, ofRequest, ofDescriptor) => {
  const { body } = await post({ domain: "d", descriptors: [on("k", name, ofDescriptor)], ...ofRequest })
  expect(body.statuses[0]).toMatchObject({ code: "OK", limitRemaining: 0 })
})

test("a limit may come with the request, with its unit by name or number", async () => {
  for (const limit of [
    { requestsPerUnit: 9, unit: "DAY" },
    { requests_per_unit: "9", unit: 4 },
  ]) {
    const { body } = await post({ domain: "d", descriptors: [on("x", "y", { limit })] })
    expect(body.statuses[0].currentLimit).toEqual({ requestsPerUnit: 9, unit: "DAY" })
  }
})

test("hits of 0 ask, and negative hits give back", async () => {
  await post({ domain: "d", descriptors: [on("k", "back", { hitsAddend: "2" })] })
  expect((await post({ domain: "d", descriptors: [on("k", "back", { hitsAddend: "0" })] })).status).toBe(429)
  const back = on("k", "back", { hitsAddend: "1", isNegativeHits: true })
  expect((await post({ domain: "d", descriptors: [back] })).body.statuses[0].limitRemaining).toBe(1)
})

test("a limit of 2^32 - 1 per week is told exactly", async () => {
  const { body } = await post({ domain: "d", descriptors: [on("big", "x")] })
  expect(body.statuses[0].currentLimit).toEqual({ requestsPerUnit: 4_294_967_295, unit: "WEEK" })
})

describe("bad bodies are 400 and charge nothing", () => {
  const good = on("k", "untouched")
  test.each([
    ["no domain", { descriptors: [good] }, "the domain must not be empty"],
    [
      "a domain that is a number",
      { domain: 1, descriptors: [good] },
      "domain must be a text of at most 8,192 characters",
    ],
    ["no descriptors", { domain: "d" }, "a request needs at least one descriptor"],
    ["descriptors that are an object", { domain: "d", descriptors: {} }, "descriptors must be an array"],
    [
      "a descriptor that is a text",
      { domain: "d", descriptors: ["x"] },
      "descriptors[0] must be a JSON object",
    ],
    [
      "an unknown field",
      { domain: "d", descriptors: [good], hits: 1 },
      'the body has no field "hits"; it takes domain, descriptors, hitsAddend',
    ],
    ["a list", [good], "the body must be a JSON object"],
    [
      "negative hits in the request",
      { domain: "d", descriptors: [good], hitsAddend: -1 },
      "hitsAddend must be an integer from 0 to 4294967295",
    ],
    [
      "half a hit",
      { domain: "d", descriptors: [good], hitsAddend: 1.5 },
      "hitsAddend must be an integer from 0 to 4294967295",
    ],
    [
      "hits above 2^32",
      { domain: "d", descriptors: [good], hitsAddend: 2 ** 32 },
      "hitsAddend must be an integer from 0 to 4294967295",
    ],
    [
      "hits that are a word",
      { domain: "d", descriptors: [good, on("k", "x", { hitsAddend: "many" })] },
      "descriptors[1].hitsAddend must be an integer from 0 to 18446744073709552000",
    ],
    [
      "a flag that is a text",
      { domain: "d", descriptors: [on("k", "x", { isNegativeHits: "yes" })] },
      "descriptors[0].isNegativeHits must be true or false",
    ],
    [
      "a value that is a number",
      { domain: "d", descriptors: [{ entries: [{ key: "k", value: 1 }] }] },
      "descriptors[0].entries[0].value must be a text of at most 8,192 characters",
    ],
    [
      "a limit without a unit",
      { domain: "d", descriptors: [on("k", "x", { limit: { requestsPerUnit: 1 } })] },
      "descriptors[0].limit.unit must be the name of a unit",
    ],
    [
      "an unknown unit",
      { domain: "d", descriptors: [on("k", "x", { limit: { unit: "eon" } })] },
      'the limit of a descriptor has an unknown unit, "eon"',
    ],
    [
      "the unit of the name of a method",
      { domain: "d", descriptors: [on("k", "x", { limit: { unit: "constructor" } })] },
      'the limit of a descriptor has an unknown unit, "constructor"',
    ],
  ])("%s", async (_, body, detail) => {
    const response = await post(body)
    expect(response).toMatchObject({ status: 400, body: { status: 400, detail } })
    expect(response.type).toContain("application/problem+json")
    const left = await post({ domain: "d", descriptors: [on("k", "untouched", { hitsAddend: 0 })] })
    expect(left.body.statuses[0].limitRemaining).toBe(2)
  })
  test("a body that is no JSON", async () => {
    expect((await post("{")).status).toBe(400)
  })
  test("a body of another type that a page of another site sends", async () => {
    const text = JSON.stringify({ domain: "d", descriptors: [good] })
    const origin = { origin: "https://example.com" }
    expect((await post(text, "text/plain", origin)).status).toBe(415)
    expect((await post(text, "application/x-www-form-urlencoded", origin)).status).toBe(415)
  })
  test("a body above 64 kB is 413", async () => {
    expect((await post({ domain: "d", descriptors: [on("k", "x".repeat(70_000))] })).status).toBe(413)
  })
})

test.each([
  "application/x-www-form-urlencoded",
  "text/plain",
  "weird",
  "application/json; charset=utf-8",
  null,
])("a body of type %s is read as JSON, as Envoy's own server does", async (type) => {
  const text = JSON.stringify({ domain: "d", descriptors: [on("big", "any type")] })
  expect((await post(text, type)).status).toBe(200)
})

test("a store that does not answer is 500", async () => {
  const broken = contextOf(`store: redis://127.0.0.1:1\noutage: { deadline: 100ms }\n${config}`)
  const another = Fastify()
  await another.register(envoyJson(broken.context))
  const payload = { domain: "d", descriptors: [on("k", "x")] }
  const response = await another.inject({ method: "POST", url: "/json", payload })
  expect([response.statusCode, response.json().code]).toEqual([500, expect.stringMatching(/^STORE_/)])
  expect(response.json().detail).toMatch(/^the store (does|did) not answer /)
  await another.close()
  await broken.engine.close()
})

test.each([
  ["false", undefined],
  ["true", ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]],
  ["{ limit: X-Limit, reset: X-Reset }", ["X-Limit", "RateLimit-Remaining", "X-Reset"]],
])("with responseHeaders: %s the response has the headers %j", async (setting, names) => {
  const { context, engine } = contextOf(`envoy: { responseHeaders: ${setting} }\n${config}`)
  const own = Fastify()
  await own.register(envoyJson(context))
  const payload = { domain: "d", descriptors: [on("k", "headers")] }
  const { responseHeadersToAdd } = (await own.inject({ method: "POST", url: "/json", payload })).json()
  expect(responseHeadersToAdd?.map(({ key }: { key: string }) => key)).toEqual(names)
  await own.close()
  await engine.close()
})
