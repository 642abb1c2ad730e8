import { createHash } from "node:crypto"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type HttpRig, startHttp } from "./http-rig.js"

let rig: HttpRig
beforeEach(async () => {
  rig = await startHttp()
})
afterEach(() => rig.stop())

const ask = (path: string, headers: Record<string, string> = {}, method = "GET", body?: string) =>
  rig.call(method, path, body, headers)
const inspect = async (key: string) =>
  (await rig.call("GET", `/v1/limiters/api/inspect?key=${encodeURIComponent(key)}`)).json.policies[0].used
const hashed = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32)
const from = (...addresses: string[]) => ({ "x-forwarded-for": addresses.join(", ") })

describe.each([
  ["/v1/nginx/api", 403],
  ["/v1/forward-auth/api", 429],
])("%s", (path, denied) => {
  test(`passes with 2xx and the RateLimit headers until the limit, then denies with ${denied}`, async () => {
    for (const remaining of [2, 1, 0]) {
      const { status, headers, text } = await ask(path, from("203.0.113.1"))
      expect([status, text]).toEqual([204, ""])
      expect(headers.get("ratelimit")).toBe(`"api";r=${remaining};t=3600`)
      expect(headers.get("cache-control")).toBe("no-store")
    }
    const { status, headers, json } = await ask(path, from("203.0.113.1"))
    expect([status, json.status]).toEqual([denied, denied])
    expect(json.type).toBe("https://iana.org/assignments/http-problem-types#quota-exceeded")
    expect(headers.get("retry-after")).toBe("3600")
    expect(headers.get("ratelimit")).toBe('"api";r=0;t=3600')
    expect((await ask(path, from("203.0.113.2"))).status).toBe(204)
  })

  test("counts for the last address of X-Forwarded-For, whatever the client wrote before it", async () => {
    for (let i = 0; i < 4; i += 1) {
      const { status } = await ask(path, from(`198.51.100.${i}`, "evil", '"', "203.0.113.7"))
      expect(status).toBe(i < 3 ? 204 : denied)
    }
    expect(await inspect("address:203.0.113.7")).toBe(3)
    expect(await inspect("address:198.51.100.0")).toBe(0)
  })

  test("counts for the socket's address without X-Forwarded-For, and if its last element is no address", async () => {
    await ask(path)
    await ask(path, from("203.0.113.7", "unknown"))
    expect(await inspect("address:127.0.0.1")).toBe(2)
  })

  test("counts addresses of one IPv6 /64 together", async () => {
    await ask(path, from("2001:db8::1"))
    await ask(path, from("2001:db8::2"))
    expect(await inspect("address:2001:db8::/64")).toBe(2)
  })

  test("ignores the content type, valid or not, with and without a body", async () => {
    for (const [i, type] of ["weird", "weird; x", "text/html"].entries()) {
      const headers = { "content-type": type, ...from(`203.0.113.${i}`) }
      expect((await ask(path, headers, "POST")).status, type).toBe(204)
      expect((await ask(path, headers, "POST", "<body>")).status, type).toBe(204)
    }
  })

  test("by=header counts for the header's value, and for the address without one", async () => {
    const byKey = `${path}?by=header:X-Api-Key`
    await ask(byKey, { "x-api-key": "k1", ...from("203.0.113.1") })
    await ask(byKey, { "x-api-key": "k1", ...from("203.0.113.2") })
    expect(await inspect(`header:x-api-key:${hashed("k1")}`)).toBe(2)
    await ask(byKey, from("203.0.113.3"))
    await ask(byKey, { "x-api-key": "", ...from("203.0.113.3") })
    expect(await inspect("address:203.0.113.3")).toBe(2)
  })

  test("a header cannot pass for an address, nor one header for another", async () => {
    await ask(`${path}?by=header:x-api-key`, { "x-api-key": "address:203.0.113.1", ...from("203.0.113.9") })
    await ask(`${path}?by=header:x`, { x: "api-key:k1", ...from("203.0.113.9") })
    expect(await inspect("address:203.0.113.1")).toBe(0)
    expect(await inspect(`header:x-api-key:${hashed("k1")}`)).toBe(0)
  })

  test("cost= is charged", async () => {
    const { headers } = await ask(`${path}?cost=3`, from("203.0.113.1"))
    expect(headers.get("ratelimit")).toContain("r=0")
  })

  test.each([
    "by=cookie",
    "by=header:",
    "by=header:a b",
    "by=header:é",
    "cost=0",
    "cost=-1",
    "cost=1.5",
    "cost=1e3",
    "cost=99999999999999999999",
    "limit=5",
  ])("?%s is answered with 400", async (query) => {
    expect((await ask(`${path}?${query}`)).status).toBe(400)
    expect(await inspect("address:127.0.0.1")).toBe(0)
  })

  test.each(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "takes %s with any body",
    async (method) => {
      const body = method === "GET" || method === "HEAD" ? undefined : "<xml/>".repeat(20_000)
      const { status } = await ask(path, { "content-type": "text/xml" }, method, body)
      expect(status).toBe(204)
    },
  )

  test("a header of any length that HTTP allows makes a short key", async () => {
    const long = "k".repeat(12_000)
    const { status } = await ask(`${path}?by=header:x-api-key`, { "x-api-key": long })
    expect(status).toBe(204)
    expect(await inspect(`header:x-api-key:${hashed(long)}`)).toBe(1)
  })
})
