import { createServer, request as httpRequest, type RequestListener } from "node:http"
import { fixedWindow, memoryStore } from "sluice"
import { manualClock } from "sluice/testing"
import { rateLimit } from "sluice/web"
import { describe, expect, onTestFinished, test } from "vitest"
import { app as addressAndKey } from "../../../../examples/recipes/address-and-key.js"
import { app as login } from "../../../../examples/recipes/login.js"
import { GET } from "../../../../examples/recipes/next/app/api/search/route.js"
import { database, app as plans } from "../../../../examples/recipes/plans.js"
import { key as behindTwo, app as twoProxies } from "../../../../examples/recipes/two-proxies.js"
import { app as uploads } from "../../../../examples/recipes/uploads.js"
import { running } from "../middleware/adapter.js"
import "../../../../examples/recipes/manual-clock.test.js"

/** Serves a recipe for one test and returns a function that calls it. */
async function serve(app: RequestListener) {
  const { url, close } = await running(createServer(app))
  onTestFinished(close)
  return {
    url,
    call: (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers }),
  }
}

describe("the recipe for logins", () => {
  const guess = async () => {
    const { call } = await serve(login)
    return async (account: string, password: string) => {
      const body = JSON.stringify({ account, password })
      return (await call("/login", { "content-type": "application/json" }, { method: "POST", body })).status
    }
  }

  test("lets exactly 5 of 100 parallel guesses through", async () => {
    const login = await guess()
    const statuses = await Promise.all(Array.from({ length: 100 }, (_, i) => login("ann", `guess ${i}`)))
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(95)
    expect(await login("ANN", "open sesame")).toBe(429)
  })

  test("does not count correct passwords", async () => {
    const login = await guess()
    for (let i = 0; i < 8; i += 1) expect(await login("bob", "open sesame")).toBe(200)
  })
})

describe("the recipe for address and API key", () => {
  test("charges both or none", async () => {
    const { call } = await serve(addressAndKey)
    const as = (address: string, apiKey?: string) =>
      call("/", { "x-forwarded-for": address, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) })
    const statuses: number[] = []
    for (let i = 0; i < 4; i += 1) statuses.push((await as("192.0.2.1", "k")).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    const denied = await as("192.0.2.1", "k")
    expect(denied.headers.get("ratelimit")).toMatch(/^"address";r=2;t=\d+, "key";r=0;t=\d+$/)
    expect(await denied.json()).toEqual({ error: "too many requests", policy: "key" })
    // The denials above took nothing from the address.
    expect((await as("192.0.2.1")).headers.get("ratelimit")).toMatch(/"address";r=1;/)
  })

  test("denies a known key from an address that is over its limit", async () => {
    const { call } = await serve(addressAndKey)
    const headers = { "x-forwarded-for": "192.0.2.9" }
    for (let i = 0; i < 5; i += 1) await call("/", headers)
    const denied = await call("/", { ...headers, "x-api-key": "other" })
    expect([denied.status, (await denied.json()) as object]).toEqual([
      429,
      { error: "too many requests", policy: "address" },
    ])
  })
})

test("the recipe for plans applies each customer's plan, and an upgrade at once", async () => {
  const { call } = await serve(plans)
  const statuses = async (customer: string, count: number) => {
    const all: number[] = []
    for (let i = 0; i < count; i += 1) all.push((await call("/", { "x-customer": customer })).status)
    return all
  }
  expect(await statuses("acme", 5)).toEqual([200, 200, 200, 200, 429])
  expect(await statuses("small", 3)).toEqual([200, 200, 429])
  database.set("small", "pro")
  onTestFinished(() => {
    database.delete("small")
  })
  const upgraded = await call("/", { "x-customer": "small" })
  expect(upgraded.status).toBe(200)
  // Two of the four were spent under the former plan.
  expect(upgraded.headers.get("ratelimit")).toMatch(/^"minute";r=1;/)
  expect(upgraded.headers.get("ratelimit-policy")).toBe('"minute";q=4;w=60, "daily";q=10000;w=86400')
})

describe("the recipe for uploads", () => {
  const mebibytes = (count: number) => ({ method: "POST", body: "x".repeat(count * 1_048_576) })

  test("charges by size, and denies what does not fit", async () => {
    const { call } = await serve(uploads)
    const first = await call("/upload", {}, mebibytes(6))
    expect(await first.json()).toEqual({ bytes: 6 * 1_048_576 })
    expect(first.headers.get("ratelimit-policy")).toBe('"upload";q=10240;w=10')
    const never = await call("/upload", {}, { method: "POST", body: "x".repeat(10_240 * 1_024 + 1) })
    expect([never.status, never.headers.has("retry-after")]).toEqual([429, false])
    expect((await call("/upload", {}, { method: "POST", body: "small" })).status).toBe(200)
  })

  test("refuses an upload without a length", async () => {
    const { url } = await serve(uploads)
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(`${url}/upload`, { method: "POST" }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on("error", reject)
      request.write("first")
      request.end("second")
    })
    expect(status).toBe(411)
  })
})

test("the recipe for Next.js limits each client by the address that Vercel reports", async () => {
  const from = (address: string) =>
    GET(new Request("http://x/api/search?q=gate", { headers: { "x-vercel-forwarded-for": address } }))
  expect(await (await from("192.0.2.1")).json()).toEqual({ query: "gate", found: [] })
  const statuses = []
  for (let i = 0; i < 3; i += 1) statuses.push((await from("192.0.2.1")).status)
  expect(statuses).toEqual([200, 200, 429])
  expect((await from("192.0.2.2")).status).toBe(200)
})

test("the recipe for tests has a clock that also moves the limits of a middleware", async () => {
  const clock = manualClock()
  const limit = rateLimit({
    policy: fixedWindow({ limit: 1, window: "1h" }),
    store: memoryStore({ clock }),
    key: () => "k",
  })
  const handler = limit(() => new Response("done"))
  const status = async () => (await handler(new Request("http://x/"))).status
  expect([await status(), await status()]).toEqual([200, 429])
  clock.advance(3_600_000)
  expect(await status()).toBe(200)
})

describe("the recipe for two proxies", () => {
  test.each([
    ["a request through both proxies", "127.0.0.1", "198.51.100.7, 203.0.113.5", "198.51.100.7"],
    ["a client that invents addresses", "127.0.0.1", "1.1.1.1, 198.51.100.7, 203.0.113.5", "198.51.100.7"],
    ["a client that reaches nginx past the network", "127.0.0.1", "1.1.1.1, 198.51.100.8", "198.51.100.8"],
    ["a client that reaches the server past both", "198.51.100.9", "1.1.1.1, 203.0.113.5", "198.51.100.9"],
  ])("names %s by its own address", (_, address, forwarded, expected) => {
    const header = (name: string) => (name === "x-forwarded-for" ? forwarded : undefined)
    expect(behindTwo({}, { address, header })).toBe(expected)
  })

  test("limits each client over HTTP", async () => {
    const { call } = await serve(twoProxies)
    const from = async (client: string) =>
      (await call("/", { "x-forwarded-for": `${client}, 203.0.113.5` })).status
    const statuses = []
    for (const client of ["192.0.2.1", "192.0.2.1", "9.9.9.9, 192.0.2.1", "192.0.2.2"]) {
      statuses.push(await from(client))
    }
    expect(statuses).toEqual([200, 200, 429, 200])
  })
})
