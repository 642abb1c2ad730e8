import { afterEach, beforeEach, expect, test } from "vitest"
import { type HttpRig, startHttp } from "./http-rig.js"

let rig: HttpRig
beforeEach(async () => {
  rig = await startHttp()
})
afterEach(() => rig.stop())

const entries = [{ key: "remote_address", value: "203.0.113.1" }]
const ask = (body: unknown) => rig.post("/json", body)
const used = async () => {
  const path = `/v1/limiters/${encodeURIComponent("edge/remote_address")}/inspect?key=${encodeURIComponent("remote_address=203.0.113.1")}`
  return (await rig.call("GET", path)).json.policies[0].used
}

test("POST /json answers as Envoy's ratelimit: 200 within the limit, 429 over it, with the same body", async () => {
  for (const [status, overallCode] of [
    [200, "OK"],
    [200, "OK"],
    [429, "OVER_LIMIT"],
  ]) {
    const answer = await ask({ domain: "edge", descriptors: [{ entries }] })
    expect(answer.status).toBe(status)
    expect(answer.json).toMatchObject({
      overallCode,
      statuses: [{ code: overallCode, currentLimit: { requestsPerUnit: 2, unit: "HOUR" } }],
    })
    expect(answer.json.statuses[0].durationUntilReset).toMatch(/^\d+s$/)
  }
})

test("POST /json takes fields by their names in the proto file, and large numbers as text", async () => {
  const { status } = await ask({
    domain: "edge",
    hits_addend: "1",
    descriptors: [{ entries, hits_addend: "2", is_negative_hits: false }],
  })
  expect(status).toBe(200)
  expect(await used()).toBe(2)
})

test.each([
  ["no domain", { descriptors: [{ entries }] }, /domain/],
  ["no descriptors", { domain: "edge" }, /descriptor/],
  ["an unknown field", { domain: "edge", descriptors: [{ entries }], x: 1 }, /^the body has no field "x"/],
  [
    "an unknown field of a descriptor",
    { domain: "edge", descriptors: [{ entries, y: 1 }] },
    /^descriptors\[0\] has no field "y"/,
  ],
  [
    "entries that are no list",
    { domain: "edge", descriptors: [{ entries: 5 }] },
    /^descriptors\[0\].entries must be an? /,
  ],
  [
    "a value that is no text",
    { domain: "edge", descriptors: [{ entries: [{ key: "k", value: 5 }] }] },
    /^descriptors\[0\].entries\[0\].value must be a text/,
  ],
  [
    "negative hits",
    { domain: "edge", hitsAddend: -1, descriptors: [{ entries }] },
    /^hitsAddend must be an integer from 0/,
  ],
  [
    "hits of 2^32",
    { domain: "edge", hitsAddend: 2 ** 32, descriptors: [{ entries }] },
    /^hitsAddend must be/,
  ],
  [
    "half a hit",
    { domain: "edge", descriptors: [{ entries, hitsAddend: 1.5 }] },
    /^descriptors\[0\].hitsAddend must be/,
  ],
  [
    "65 descriptors",
    { domain: "edge", descriptors: Array.from({ length: 65 }, () => ({ entries })) },
    /at most 64/,
  ],
  ["a list as the body", [], /^the body must be /],
])("POST /json with %s is answered with 400 and charges nothing", async (_, body, detail) => {
  const { status, json } = await ask(body)
  expect(status).toBe(400)
  expect(json.detail).toMatch(detail)
  expect(await used()).toBe(0)
})
