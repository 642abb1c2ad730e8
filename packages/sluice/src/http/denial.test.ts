import { expect, test } from "vitest"
import type { Decision } from "../decision.js"
import { customised, outageDenial, quotaDenial } from "./denial.js"
import { quotasOf } from "./quota.js"

const policy = (name: string, allowed: boolean) => ({
  policy: name,
  allowed,
  limit: 5,
  window: 1_000,
  remaining: 0,
  retryAfter: allowed ? 0 : 400,
  resetAfter: 900,
})
const decision: Decision = { ...policy("burst", false), source: "store", degraded: false }
const denialOf = (denied: Decision) => quotaDenial(denied, quotasOf(denied), { "Retry-After": "1" })
const types = "https://iana.org/assignments/http-problem-types"

test("a denial is a 429 that no cache stores, with a problem that names the violated policies", () => {
  const policies = [policy("burst", false), policy("hourly", true), policy("daily", false)]
  const { status, headers, body } = denialOf({ ...decision, policies })
  expect(status).toBe(429)
  expect(headers).toEqual({
    "Retry-After": "1",
    "Content-Type": "application/problem+json",
    "Cache-Control": "no-store",
  })
  expect(JSON.parse(body)).toEqual({
    type: `${types}#quota-exceeded`,
    title: "Quota Exceeded",
    status: 429,
    "violated-policies": ["burst", "daily"],
  })
})

test("a denial without the store is a 503 for reduced capacity", () => {
  const { status, body } = denialOf({ ...decision, degraded: true, source: "fallback" })
  expect(status).toBe(503)
  expect(JSON.parse(body)).toEqual({
    type: `${types}#temporary-reduced-capacity`,
    title: "Temporary Reduced Capacity",
    status: 503,
    "violated-policies": ["burst"],
  })
})

test("a request that could not be decided is a 503 that may be retried after a second", () => {
  const { status, headers, body, decision } = outageDenial()
  expect([status, headers["Retry-After"], decision]).toEqual([503, "1", undefined])
  expect(JSON.parse(body)).toMatchObject({ status: 503, "violated-policies": [] })
})

test("onDenied replaces only what it returns", () => {
  const denial = denialOf(decision)
  expect(customised(denial, undefined)).toEqual(denial)
  expect(customised(denial, {})).toEqual(denial)
  expect(customised(denial, { status: 403 })).toEqual({ ...denial, status: 403 })
  expect(customised(denial, { body: "Slow down" })).toEqual({
    ...denial,
    body: "Slow down",
    headers: { ...denial.headers, "Content-Type": "text/plain; charset=utf-8" },
  })
  expect(customised(denial, { body: { error: "slow" } })).toMatchObject({
    body: '{"error":"slow"}',
    headers: { "Content-Type": "application/json", "Retry-After": "1" },
  })
})

test("a header that onDenied returns replaces one of the same name in another case", () => {
  const { headers } = customised(denialOf(decision), {
    body: "<p>Slow down</p>",
    headers: { "content-type": "text/html", "X-Own": "1" },
  })
  expect(headers).toEqual({
    "Retry-After": "1",
    "Content-Type": "text/html",
    "Cache-Control": "no-store",
    "X-Own": "1",
  })
})
