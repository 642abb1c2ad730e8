// Sends random requests for FUZZ_SECONDS, 3 by default. Nothing may crash, and no answer may be a 5xx but a 503.

import { Agent, request } from "node:http"
import fc from "fast-check"
import { expect, test } from "vitest"
import { defaultConfig, startHttp } from "./http-rig.js"

const seconds = Number(process.env["FUZZ_SECONDS"] ?? 3)

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    "api",
    "plans",
    "__proto__",
    "constructor",
    "\u0000",
    "\ud800",
    "a".repeat(9_000),
    "*",
    "%",
    "../..",
  ),
)
const number = fc.oneof(
  fc.constantFrom(0, -1, 1.5, 2 ** 53, 1e308, -0, 1, 2, 64),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 3 }, text, number, fc.boolean(), fc.constant(null), tie("list"), tie("map")),
  list: fc.array(tie("any"), { maxLength: 5 }),
  map: fc.dictionary(text, tie("any"), { maxKeys: 5 }),
})).any

/** Bodies that are nearly right: known fields with random values. */
const nearly = fc.record(
  {
    key: fc.oneof(text, value),
    cost: fc.oneof(number, value),
    timeout: fc.constantFrom(0, 1, 5, "1ms", "x", -1, null),
    ttl: fc.constantFrom(0, 1, "1s", "1y", null),
    id: fc.oneof(text, fc.constant(`${"0".repeat(32)}?default=1fw`)),
    limiter: text,
    pattern: fc.oneof(text, fc.constant("a*")),
    action: fc.constantFrom("limit", "block", "allow", "x"),
    policy: fc.oneof(value, fc.constant({ algorithm: "fixedWindow", limit: 1, window: 1 })),
    until: fc.oneof(value, fc.constantFrom("1s", "2030-01-01T00:00:00Z", "9999-99-99T99:99:99Z")),
    requests: fc.oneof(
      value,
      fc.array(fc.record({ limiter: text, key: text, cost: number }, { requiredKeys: ["limiter", "key"] }), {
        maxLength: 5,
      }),
    ),
    atomic: fc.boolean(),
    domain: fc.constantFrom("edge", "", 1),
    descriptors: fc.oneof(
      value,
      fc.array(
        fc.record(
          {
            entries: fc.array(fc.record({ key: fc.constantFrom("remote_address", "x"), value: text })),
            hitsAddend: fc.oneof(number, text),
          },
          { requiredKeys: ["entries"] },
        ),
        { maxLength: 3 },
      ),
    ),
  },
  { requiredKeys: [] },
)
const calls = ["acquire", "peek", "charge", "reserve", "settle", "cancel", "refund", "reset", "inspect"]
const path = fc.oneof(
  fc
    .tuple(fc.oneof(fc.constant("api"), fc.constant("plans"), text), fc.constantFrom(...calls))
    .map(([name, call]) => `/v1/limiters/${encoded(name)}/${call}`),
  fc.constantFrom(
    "/v1/batch",
    "/v1/rules",
    "/v1/rules/history",
    "/v1/top",
    "/v1/limiters",
    "/json",
    "/metrics",
    "/openapi.json",
    "/readyz",
  ),
  fc
    .tuple(fc.constantFrom("nginx", "forward-auth"), text, text)
    .map(([kind, by, cost]) => `/v1/${kind}/api?by=${encoded(by)}&cost=${encoded(cost)}`),
  fc.string({ maxLength: 60 }).map((raw) => `/${raw.replaceAll(/[^!-~]/g, "%")}`),
)
const header = fc.dictionary(
  fc.constantFrom(
    "x-forwarded-for",
    "x-api-key",
    "authorization",
    "content-type",
    "accept",
    "expect",
    "x-odd",
  ),
  fc.oneof(
    fc.string({ maxLength: 60 }).map((raw) => raw.replaceAll(/[^ -~]/g, "?")),
    fc.constantFrom(
      "application/json",
      "text/plain",
      "application/json; charset=x",
      '"',
      ",,,",
      "::1",
      "Bearer x",
    ),
  ),
)
const call = fc.record({
  method: fc.constantFrom("GET", "POST", "POST", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"),
  path,
  headers: fc.oneof(fc.constant({}), fc.constant({}), header),
  body: fc.oneof(
    nearly.map((each) => JSON.stringify(each)),
    value.map((each) => JSON.stringify(each)),
    text,
  ),
})

function encoded(raw: string): string {
  try {
    return encodeURIComponent(raw)
  } catch {
    return "%ED%A0%80"
  }
}

test(`random requests for ${seconds} s crash nothing and are never answered with a 5xx but 503`, {
  timeout: (seconds + 30) * 1_000,
}, async () => {
  const rig = await startHttp({ config: defaultConfig })
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const counts = new Map<number, number>()
  const send = ({
    method,
    path,
    headers,
    body,
  }: {
    method: string
    path: string
    headers: Record<string, string>
    body: string
  }) =>
    new Promise<number>((resolve, reject) => {
      const hasBody = method !== "GET" && method !== "HEAD"
      const type = hasBody
        ? { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
        : {}
      const sent = request(rig.url, { agent, method, path, headers: { ...type, ...headers } }, (response) => {
        response.resume()
        response.on("end", () => resolve(response.statusCode as number))
      })
      sent.on("error", (error) =>
        reject(
          new Error(
            `${error.message}: reused ${sent.reusedSocket} ${JSON.stringify({ method, path, headers, body }).slice(0, 600)}`,
          ),
        ),
      )
      sent.end(hasBody ? body : undefined)
    })
  const end = performance.now() + seconds * 1_000
  let seed = Number(process.env["FUZZ_SEED"] ?? 1)
  while (performance.now() < end) {
    const sample = fc.sample(call, { numRuns: 50, seed })
    const statuses = await Promise.all(sample.map(send))
    for (const [i, status] of statuses.entries()) {
      counts.set(status, (counts.get(status) ?? 0) + 1)
      if (status >= 500 && status !== 503) {
        expect.fail(
          `seed ${seed}: ${status} for ${JSON.stringify(sample[i])}\n${JSON.stringify(rig.log.at(-1))}`,
        )
      }
    }
    seed += 1
  }
  agent.destroy()
  expect((await rig.call("GET", "/healthz")).status).toBe(200)
  expect(counts.get(200), JSON.stringify([...counts])).toBeGreaterThan(0)
  expect(counts.get(400)).toBeGreaterThan(0)
  expect(rig.log.filter(({ level }) => level >= 50)).toEqual([])
  await rig.stop()
})
