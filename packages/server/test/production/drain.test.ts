import { connect } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "vitest"
import { temporaryFile } from "../support/folder.js"
import { acquire, keepAlive, send } from "../support/http.js"
import { startService } from "../support/service.js"

const file = (http = "drain: 3s") =>
  temporaryFile(
    "sluice.yaml",
    `http: { ${http} }
limiters:
  slow: { policy: { algorithm: tokenBucket, capacity: 1, refill: 1, every: 20s } }
  quick: { policy: { algorithm: tokenBucket, capacity: 1, refill: 1, every: 200ms } }
`,
  )

test("SIGTERM ends long polls with 503, refuses new connections, and exits with code 0 before the deadline", async () => {
  const service = await startService(["--config", file()])
  const keys = Array.from({ length: 20 }, (_, i) => `caller ${i}`)
  await Promise.all(keys.map((key) => acquire(service, "slow", { key })))
  const polls = Promise.all(keys.map((key) => acquire(service, "slow", { key, timeout: "30s" })))
  await delay(300)
  const start = performance.now()
  service.signal("SIGTERM")
  const replies = await polls
  for (const reply of replies) {
    expect(reply.status).toBe(503)
    expect(reply.headers).toMatchObject({ "retry-after": "1", connection: "close" })
    expect(reply.json.detail).toContain("nothing was charged")
  }
  expect(await service.ended).toBe(0)
  expect(performance.now() - start).toBeLessThan(3_000)
  await expect(acquire(service, "slow", { key: "a" })).rejects.toMatchObject({ code: "ECONNREFUSED" })
})

test("SIGTERM refuses new connections at once, while requests on open connections are answered", async () => {
  const service = await startService(["--config", file()])
  const agent = keepAlive(1)
  await acquire(service, "quick", { key: "a" }, { agent })
  service.signal("SIGTERM")
  await service.logged("draining")
  await expect(acquire(service, "quick", { key: "b" })).rejects.toMatchObject({ code: "ECONNREFUSED" })
  const reply = await acquire(service, "quick", { key: "b" }, { agent })
  expect(reply).toMatchObject({ status: 200, headers: { connection: "close" } })
  expect(await service.ended).toBe(0)
})

test("a client that never finishes its request does not outlast the deadline", async () => {
  const service = await startService(["--config", file()])
  const socket = connect(service.port, "127.0.0.1")
  socket.on("error", () => {})
  socket.write("POST /v1/limiters/slow/acquire HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
  await delay(100)
  const start = performance.now()
  expect(await service.stop()).toBe(0)
  expect(performance.now() - start).toBeLessThan(3_000 + 500)
  socket.destroy()
})

test("while it drains, health checks on open connections fail", async () => {
  const service = await startService(["--config", file()])
  const agents = [keepAlive(1), keepAlive(1)]
  for (const agent of agents) expect((await send(`${service.url}/readyz`, { agent })).status).toBe(200)
  service.signal("SIGTERM")
  await service.logged("draining")
  for (const [i, path] of ["/readyz", "/healthz"].entries()) {
    expect((await send(`${service.url}${path}`, { agent: agents[i] as never })).status).toBe(503)
  }
  expect(await service.ended).toBe(0)
})

test("for shutdownDelay after SIGTERM, health checks fail while new connections are taken and long polls wait", async () => {
  const service = await startService(["--config", file("shutdownDelay: 2s")])
  await acquire(service, "quick", { key: "a" })
  service.signal("SIGTERM")
  await service.logged("draining")
  const start = performance.now()
  for (const path of ["/readyz", "/healthz"]) {
    expect(await send(`${service.url}${path}`)).toMatchObject({
      status: 503,
      headers: { connection: "close" },
    })
  }
  const reply = await acquire(service, "quick", { key: "b" }, { agent: keepAlive(1) })
  expect(reply).toMatchObject({ status: 200, headers: { connection: "close" } })
  expect((await acquire(service, "quick", { key: "b", timeout: "1s" })).status).toBe(200)
  expect(await service.ended).toBe(0)
  expect(performance.now() - start).toBeGreaterThan(1_500)
})

test("Ctrl-C skips shutdownDelay and closes idle connections at once", async () => {
  const service = await startService(["--config", file("shutdownDelay: 1m, drain: 1m")])
  const agent = keepAlive(1)
  await acquire(service, "quick", { key: "a" }, { agent })
  const start = performance.now()
  service.signal("SIGINT")
  expect(await service.ended).toBe(0)
  expect(performance.now() - start).toBeLessThan(3_000)
})
