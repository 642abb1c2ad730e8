import { describe, expect, onTestFinished, test } from "vitest"
import { freePort } from "../../../sluice/test/support/server-process.js"
import { temporaryFile } from "../support/folder.js"
import { type Reply, type SendOptions, send } from "../support/http.js"
import { startApplication, startCaddy, startNginx } from "../support/proxy.js"
import { startService } from "../support/service.js"

const config = ["--config", "examples/proxies/sluice.yaml"]

const proxies = {
  nginx: { start: startNginx, closed: 503 },
  caddy: { start: startCaddy, closed: 502 },
}

/** Sends requests one after the other, and returns the statuses with how often each came in a row. */
async function statuses(count: number, call: () => Promise<Reply>): Promise<string> {
  const runs: { status: number; times: number }[] = []
  for (let i = 0; i < count; i += 1) {
    const { status } = await call()
    const last = runs.at(-1)
    if (last?.status === status) last.times += 1
    else runs.push({ status, times: 1 })
  }
  return runs.map(({ status, times }) => `${times} × ${status}`).join(", ")
}

describe.each(Object.entries(proxies))("%s", (_, { start, closed }) => {
  async function setUp() {
    const [application, service] = await Promise.all([startApplication(), startService(config)])
    const proxy = await start({ service: service.port, application: application.port })
    const get = (path: string, options?: SendOptions) => send(`${proxy.url}${path}`, options)
    return { application, service, get }
  }

  test("a proxy limits each address, and answers 429 with the headers of the service", async () => {
    const { get } = await setUp()
    const first = await get("/")
    expect(first).toMatchObject({ status: 200, text: "GET /" })
    expect(first.headers).toMatchObject({
      "ratelimit-policy": '"pages";q=60;w=60',
      ratelimit: expect.stringMatching(/^"pages";r=59;t=\d+$/),
    })
    expect(first.headers).not.toHaveProperty("retry-after")
    expect(await statuses(60, () => get("/x"))).toBe("59 × 200, 1 × 429")

    const denied = await get("/")
    expect(denied.status).toBe(429)
    expect(denied.headers).toMatchObject({
      "content-type": expect.stringMatching(/^application\/problem\+json(; charset=utf-8)?$/),
      "ratelimit-policy": '"pages";q=60;w=60',
      ratelimit: expect.stringMatching(/^"pages";r=0;t=\d+$/),
      "retry-after": expect.stringMatching(/^\d+$/),
    })
    expect(denied.json).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota Exceeded",
      status: 429,
    })
    expect((await get("/", { from: "127.0.0.2" })).status).toBe(200)
  })

  test("a proxy limits each API key, and requests without one by their address", async () => {
    const { get } = await setUp()
    const as = (key: string) => () => get("/api/x", { headers: { "X-API-Key": key } })
    expect(await statuses(102, as("alice"))).toBe("100 × 200, 2 × 429")
    const denied = await as("alice")()
    expect(denied.headers).toMatchObject({
      "ratelimit-policy": '"api";q=100;w=60',
      ratelimit: expect.stringMatching(/^"api";r=0;t=\d+$/),
      "retry-after": expect.stringMatching(/^\d+$/),
    })
    expect((await as("bob")()).status).toBe(200)
    const anonymous = () => get("/api/x", { from: "127.0.0.3" })
    expect(await statuses(101, anonymous)).toBe("100 × 200, 1 × 429")
    expect((await as("address:127.0.0.3")()).status).toBe(200)
    expect((await as("127.0.0.3")()).status).toBe(200)
  })

  test("a client that sends headers of proxies and parameters of the service keeps its key", async () => {
    const { get } = await setUp()
    expect(await statuses(60, () => get("/"))).toBe("60 × 200")
    for (const name of ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Client-IP"]) {
      for (const value of ["203.0.113.9", "203.0.113.9, 127.0.0.1", "for=203.0.113.9", ""]) {
        expect((await get("/", { headers: { [name]: value } })).status, `${name}: ${value}`).toBe(429)
      }
    }
    const from = "127.0.0.5"
    for (const query of ["by=header:x-new", "by=address", "cost=2", "unknown=1"]) {
      const headers = { "x-new": query }
      expect((await get(`/?${query}`, { headers })).status, query).toBe(429)
      expect((await get(`/api/?${query}`, { headers, from })).status, query).toBe(200)
    }
    expect(await statuses(97, () => get("/api/", { from }))).toBe("96 × 200, 1 × 429")
  })

  test("a request reaches the application with its method and body, and the application's own statuses pass", async () => {
    const { application, get } = await setUp()
    const posted = await get("/api/x?y=1", { method: "POST", body: { a: 1 } })
    expect(posted).toMatchObject({ status: 200, text: 'POST /api/x?y=1 {"a":1}' })
    for (const status of [401, 403, 404, 429, 500, 502, 503, 504]) {
      const headers = { "x-wanted-status": String(status) }
      expect((await get("/", { headers })).status).toBe(status)
      expect((await get("/api/", { headers })).status).toBe(status)
    }
    expect(application.seen).toHaveLength(17)
  })

  test("an application that breaks the connection gets a request only once", async () => {
    const { application, get } = await setUp()
    expect((await get("/break")).status).toBe(502)
    expect(application.seen).toHaveLength(1)
  })

  test("while the service is down, one path fails open and the other fails closed, and both recover", async () => {
    const { application, service, get } = await setUp()
    await service.kill()
    const open = await get("/")
    expect(open).toMatchObject({ status: 200, text: "GET /" })
    expect(open.headers).not.toHaveProperty("ratelimit")
    expect((await get("/", { method: "POST", body: "once" })).text).toBe('POST / "once"')
    expect(application.seen).toHaveLength(2)
    expect((await get("/api/")).status).toBe(closed)
    expect(application.seen).toHaveLength(2)

    await startService(config, { port: service.port })
    for (const path of ["/", "/api/"]) expect((await get(path)).status).toBe(200)
    expect(await statuses(60, () => get("/"))).toBe("59 × 200, 1 × 429")
  })

  test("while the service hangs, no request waits longer than the proxy's timeout", async () => {
    const { service, get } = await setUp()
    expect((await get("/")).status).toBe(200)
    service.signal("SIGSTOP")
    onTestFinished(() => service.signal("SIGCONT"))
    const replies = await Promise.all([get("/"), get("/api/")])
    expect(replies.map(({ status }) => status)).toEqual([200, closed === 502 ? 504 : closed])
    for (const { ms } of replies) expect(ms).toBeLessThan(3_000)
    service.signal("SIGCONT")
    expect(await get("/").then(({ headers }) => headers["ratelimit"])).toMatch(/^"pages";r=/)
  })

  test("while the service has no Redis, one path fails open and the other fails closed", async () => {
    const application = await startApplication()
    const redis = `redis://127.0.0.1:${await freePort()}`
    const service = await startService([...config, "--redis", redis])
    const proxy = await start({ service: service.port, application: application.port })
    expect(await send(`${proxy.url}/`)).toMatchObject({ status: 200, text: "GET /" })
    expect((await send(`${proxy.url}/api/`)).status).toBe(503)
  })

  test("a proxy tells the service the address, the method and the URI of the request, and sends no body", async () => {
    const [application, recorder] = await Promise.all([startApplication(), startApplication()])
    const proxy = await start({ service: recorder.port, application: application.port })
    const headers = {
      "X-Forwarded-For": "203.0.113.9",
      "X-Original-URI": "/spoofed",
      "X-Forwarded-Uri": "/spoofed",
    }
    await send(`${proxy.url}/a%20b?c=d`, { method: "PUT", body: "x".repeat(100), headers, from: "127.0.0.4" })
    const [asked] = recorder.seen
    expect(asked?.method).toBe("GET")
    expect(asked?.url).toMatch(/^\/v1\/(nginx\/pages|forward-auth\/pages\?by=address)$/)
    expect(asked?.headers["content-length"] ?? "0").toBe("0")
    expect(asked?.headers["x-forwarded-for"]).toBe("127.0.0.4")
    const names = asked?.url?.startsWith("/v1/nginx") ? ["x-original-method", "x-original-uri"] : []
    const [method = "x-forwarded-method", uri = "x-forwarded-uri"] = names
    expect(asked?.headers).toMatchObject({ [method]: "PUT", [uri]: "/a%20b?c=d" })
    expect(application.seen.map(({ url }) => url)).toEqual(["/a%20b?c=d"])
  })
})

test("clients cannot reach the subrequests of nginx", async () => {
  const [application, service] = await Promise.all([startApplication(), startService(config)])
  const proxy = await startNginx({ service: service.port, application: application.port })
  for (const path of ["/limit/", "/limit/pages", "/limit/api"]) {
    expect((await send(`${proxy.url}${path}`)).status).toBe(404)
  }
})

test("a limiter that does not exist is an error of nginx, even where it fails open", async () => {
  const file = temporaryFile("sluice.yaml", "limiters: {}\n")
  const [application, service] = await Promise.all([startApplication(), startService(["--config", file])])
  const proxy = await startNginx({ service: service.port, application: application.port })
  expect((await send(`${proxy.url}/`)).status).toBe(500)
})
