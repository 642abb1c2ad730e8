import { Agent, get } from "node:http"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { keepAlive, send } from "../support/http.js"
import { startHttp } from "./http-rig.js"

/** A turn every 5 s. */
const acquire = "/v1/limiters/slow/acquire"

/** A GET over an agent: its status, and whether the server will close the connection. */
function getOver(agent: Agent, url: string): Promise<{ status: number; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume()
      response.on("end", () =>
        resolve({ status: response.statusCode as number, connection: response.headers.connection }),
      )
    }).on("error", reject)
  })
}

describe("health and metrics", () => {
  test("healthz, readyz and healthcheck answer GET and HEAD with 200", async () => {
    const rig = await startHttp()
    for (const path of ["/healthz", "/readyz", "/healthcheck"]) {
      expect((await rig.call("GET", path)).text).toBe("OK\n")
      expect((await rig.call("HEAD", path)).status).toBe(200)
    }
    await rig.stop()
  })

  test("readyz fails within about a second if the store never answers", async () => {
    const rig = await startHttp({
      engine: (engine) => ({ ...engine, config: engine.config, ready: () => new Promise(() => {}) }),
    })
    const { status, json } = await rig.call("GET", "/readyz")
    expect([status, json.detail]).toEqual([503, "the store does not answer"])
    await rig.stop()
  })

  test("metrics count decisions by limiter and contain no key", async () => {
    const rig = await startHttp()
    await rig.post("/v1/limiters/api/acquire", { key: "secret-key" })
    const { headers, text } = await rig.call("GET", "/metrics")
    expect(headers.get("content-type")).toContain("text/plain; version=0.0.4")
    expect(text).toMatch(/^sluice_decisions\w*\{[^}]*limiter="api"[^}]*\} 1$/m)
    expect(text).not.toContain("secret-key")
    await rig.stop()
  })
})

describe("a connection", () => {
  test("is announced as kept for 5 s, unless the client wants to close it", async () => {
    const rig = await startHttp()
    const kept = await send(`${rig.url}/healthz`, { agent: keepAlive(1) })
    expect(kept.headers).toMatchObject({ connection: "keep-alive", "keep-alive": "timeout=5" })
    const closed = await send(`${rig.url}/healthz`)
    expect(closed.headers.connection).toBe("close")
    expect(closed.headers).not.toHaveProperty("keep-alive")
    await rig.stop()
  })
})

describe("a drain", () => {
  test("ends long polls with 503 and charges nothing", async () => {
    const rig = await startHttp()
    await rig.post(acquire, { key: "k" })
    const waiting = rig.post(acquire, { key: "k", timeout: "9s" })
    await sleep(50)
    const start = performance.now()
    const drained = rig.drain(5_000)
    const { status, json } = await waiting
    expect([status, json.code]).toEqual([503, "STORE_REFUSED"])
    expect(json.detail).toContain("nothing was charged")
    await drained
    expect(performance.now() - start).toBeLessThan(1_500)
    await rig.stop()
  })

  test("answers requests on open connections for a while, with Connection: close, and reports that it drains", async () => {
    const rig = await startHttp()
    const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    for (const agent of agents) {
      expect(await getOver(agent, `${rig.url}/healthz`)).toEqual({ status: 200, connection: "keep-alive" })
    }
    const drained = rig.drain(5_000)
    await sleep(200)
    const paths = ["/healthz", "/readyz", "/v1/forward-auth/api", "/openapi.json"]
    const answers = await Promise.all(paths.map((path, i) => getOver(agents[i] as Agent, rig.url + path)))
    expect(answers).toEqual([503, 503, 204, 200].map((status) => ({ status, connection: "close" })))
    await expect(getOver(new Agent(), `${rig.url}/healthz`)).rejects.toThrow("ECONNREFUSED")
    await drained
    await rig.stop()
  })

  test("a request that would wait is decided at once, and sent elsewhere if it is denied", async () => {
    const rig = await startHttp()
    const body = JSON.stringify({ key: "k", timeout: "5s" })
    const warm = Array.from({ length: 2 }, () => rig.post(acquire, { key: "other" }))
    await Promise.all(warm)
    const drained = rig.drain(5_000)
    const headers = { "content-type": "application/json" }
    const first = await fetch(rig.url + acquire, { method: "POST", headers, body })
    const second = await fetch(rig.url + acquire, { method: "POST", headers, body })
    expect([first.status, second.status]).toEqual([200, 503])
    await drained
    await rig.stop()
  })

  test("closes idle connections, and those that never sent a request, long before the deadline", async () => {
    const rig = await startHttp()
    const agent = new Agent({ keepAlive: true })
    await getOver(agent, `${rig.url}/healthz`)
    const silent = connect(rig.listener.address.port, "127.0.0.1")
    await new Promise((resolve) => silent.once("connect", resolve))
    const start = performance.now()
    await rig.drain(10_000)
    expect(performance.now() - start).toBeLessThan(2_000)
    silent.destroy()
    await rig.stop()
  })

  test("destroys at the deadline what has not ended", async () => {
    const rig = await startHttp({
      engine: (engine) => ({ ...engine, config: engine.config, ready: () => new Promise(() => {}) }),
    })
    const half = connect(rig.listener.address.port, "127.0.0.1")
    half.write("POST /v1/limiters/api/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-le")
    await sleep(50)
    const start = performance.now()
    const ended = new Promise((resolve) => half.once("close", resolve))
    half.on("error", () => {})
    await rig.drain(800)
    await ended
    const took = performance.now() - start
    expect(took).toBeGreaterThan(700)
    expect(took).toBeLessThan(2_000)
    await rig.stop()
  })

  test("drops no request of clients that keep sending on their connections", async () => {
    const rig = await startHttp()
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    const statuses: number[] = []
    let refused = 0
    let isOver = false
    const client = async () => {
      while (!isOver) {
        try {
          statuses.push((await getOver(agent, `${rig.url}/v1/forward-auth/queue`)).status)
        } catch (error) {
          // A refused connection has sent nothing, so the client can go elsewhere.
          if ((error as { code?: string }).code !== "ECONNREFUSED") throw error
          refused += 1
          return
        }
      }
    }
    const clients = Array.from({ length: 8 }, client)
    // By then, all connections are there.
    await expect.poll(() => statuses.length).toBeGreaterThan(50)
    await rig.drain(5_000)
    isOver = true
    await Promise.all(clients)
    expect(refused).toBeGreaterThan(0)
    expect(statuses.every((status) => status === 204 || status === 429)).toBe(true)
    await rig.stop()
  })
})
