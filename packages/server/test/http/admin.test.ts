import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { defaultConfig, type HttpRig, startHttp } from "./http-rig.js"

const token = "a-token-of-an-operator"
const withToken = `admin: { token: ${token} }\n${defaultConfig}`

/** Every admin route, with a body that it accepts. */
const routes: [method: string, path: string, body: object | undefined, success: number][] = [
  ["POST", "/v1/limiters/api/refund", { key: "k", cost: 1 }, 204],
  ["POST", "/v1/limiters/api/reset", { key: "k" }, 204],
  ["POST", "/v1/limiters/api/inspect", { key: "k" }, 200],
  ["GET", "/v1/limiters/api/inspect?key=k", undefined, 200],
  ["GET", "/v1/limiters", undefined, 200],
  ["GET", "/v1/limiters/api", undefined, 200],
  ["GET", "/v1/top", undefined, 200],
  ["GET", "/v1/rules", undefined, 200],
  ["PUT", "/v1/rules", { limiter: "api", key: "other", action: "block" }, 204],
  ["DELETE", "/v1/rules", { limiter: "api", key: "other" }, 200],
  ["GET", "/v1/rules/history", undefined, 200],
]

type Case = [who: string, rig: () => HttpRig, headers: Record<string, string>, status: number | "success"]

describe("admin routes", () => {
  let guarded: HttpRig
  let local: HttpRig
  let exposed: HttpRig
  let exposedWithToken: HttpRig
  beforeAll(async () => {
    guarded = await startHttp({ config: withToken })
    local = await startHttp()
    exposed = await startHttp({ host: "0.0.0.0" })
    exposedWithToken = await startHttp({ config: withToken, host: "0.0.0.0" })
  })
  afterAll(() => Promise.all([guarded, local, exposed, exposedWithToken].map((rig) => rig.stop())))

  const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
  const cases: Case[] = [
    ["no token where one is set", () => guarded, {}, 401],
    ["a wrong token", () => guarded, bearer("a-token-of-an-operatoR"), 401],
    ["a part of the token", () => guarded, bearer(token.slice(0, -1)), 401],
    ["a longer token", () => guarded, bearer(`${token}x`), 401],
    ["the token under another scheme", () => guarded, { authorization: `Basic ${token}` }, 401],
    ["the token without a scheme", () => guarded, { authorization: token }, 401],
    ["the right token", () => guarded, bearer(token), "success"],
    [
      "the right token under a foreign Host",
      () => guarded,
      { ...bearer(token), host: "sluice.example" },
      "success",
    ],
    ["no token on loopback where none is set", () => local, {}, "success"],
    ["localhost as the Host", () => local, { host: "localhost:8080" }, "success"],
    ["IPv6 loopback as the Host", () => local, { host: "[::1]:8080" }, "success"],
    ["a foreign Host on loopback", () => local, { host: "attacker.example" }, 403],
    ["a Host that begins like loopback", () => local, { host: "127.0.0.1.attacker.example:8080" }, 403],
    ["a Host that ends like loopback", () => local, { host: "attacker.example:localhost" }, 403],
    ["a request that a proxy forwarded", () => local, { "x-forwarded-for": "203.0.113.9" }, 403],
    ["no token on all addresses", () => exposed, {}, 403],
    ["any token on all addresses where none is set", () => exposed, bearer(token), 403],
    ["loopback as the Host on all addresses", () => exposed, { host: "localhost" }, 403],
    ["no token on all addresses where one is set", () => exposedWithToken, {}, 401],
    ["the right token on all addresses", () => exposedWithToken, bearer(token), "success"],
  ]

  describe.each(cases)("with %s", (_, rig, headers, expected) => {
    test.each(routes)("%s %s answers as it must", async (method, path, body, success) => {
      const { port } = rig().listener.address
      const { status, detail, challenge } = await send(port, method, path, body, headers)
      expect(status).toBe(expected === "success" ? success : expected)
      if (expected === 403) expect(detail).toMatch(/Set admin.token or SLUICE_ADMIN_TOKEN$/)
      expect(challenge).toBe(expected === 401 ? 'Bearer realm="sluice"' : undefined)
    })
  })

  test("the routes of this test are all that the OpenAPI document marks for operators", async () => {
    const { paths } = (await local.call("GET", "/openapi.json")).json
    const marked = Object.entries(paths as Record<string, Record<string, { security?: unknown }>>).flatMap(
      ([path, item]) =>
        Object.entries(item)
          .filter(([, operation]) => operation.security !== undefined)
          .map(([method]) => `${method.toUpperCase()} ${path.replace("{limiter}", "api")}`),
    )
    expect(marked.sort()).toEqual(routes.map(([method, path]) => `${method} ${path.split("?")[0]}`).sort())
  })

  test("a refused admin call changes nothing, and its body is not even read", async () => {
    await guarded.post("/v1/limiters/api/acquire", { key: "spent", cost: 3 })
    const { status } = await guarded.post("/v1/limiters/api/reset", "{ broken")
    expect(status).toBe(401)
    await guarded.post("/v1/limiters/api/reset", { key: "spent" })
    expect((await guarded.post("/v1/limiters/api/peek", { key: "spent" })).json.remaining).toBe(0)
  })

  test("other routes need no token", async () => {
    expect((await guarded.post("/v1/limiters/api/acquire", { key: "free" })).status).toBe(200)
    expect((await exposed.call("GET", "/metrics")).status).toBe(200)
  })
})

/** Sends a request with any Host, which fetch does not allow. */
function send(
  port: number,
  method: string,
  path: string,
  body: object | undefined,
  headers: Record<string, string>,
) {
  return new Promise<{ status: number; detail: string; challenge: string | undefined }>((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const type =
      text === undefined ? {} : { "content-type": "application/json", "content-length": text.length }
    const sent = request(
      { host: "127.0.0.1", port, method, path, headers: { ...type, ...headers } },
      (response) => {
        let text = ""
        response.on("data", (chunk) => {
          text += chunk
        })
        response.on("end", () => {
          const { detail = "" } = text.startsWith("{") ? JSON.parse(text) : {}
          const { "www-authenticate": challenge } = response.headers
          resolve({ status: response.statusCode as number, detail, challenge })
        })
      },
    )
    sent.on("error", reject)
    sent.end(text)
  })
}
