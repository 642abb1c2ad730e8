import { Agent } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import { Client, credentials } from "@grpc/grpc-js"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { freePort } from "../../../sluice/test/support/server-process.js"
import { codes, on, requestBytes } from "../grpc/support/rls-client.js"
import { temporaryFile } from "../support/folder.js"
import { acquire } from "../support/http.js"
import { startService } from "../support/service.js"
import { type SlowLink, slowLink } from "../support/slow-link.js"

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

// Each test restarts several processes, on cores that other tests use.
vi.setConfig({ testTimeout: 120_000 })

const LATENCY = 30
const CALLERS = 60
const limit = 1_000_000

const configFile = (http: string) =>
  temporaryFile(
    "sluice.yaml",
    `http: { ${http} }
limiters:
  leased: { policy: { algorithm: fixedWindow, limit: ${limit}, window: 1d }, lease: { time: 30s } }
domain: edge
descriptors: [{ key: user, policy: { algorithm: fixedWindow, limit: ${limit}, window: 1d } }]
`,
  )

/** Asks for one unit with `fetch`, which keeps idle connections for later requests and sends no POST twice. */
async function post(url: string): Promise<number> {
  const response = await fetch(`${url}/v1/limiters/leased/acquire`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ key: "all" }),
  })
  await response.arrayBuffer()
  return response.status
}

/** Callers that pause between requests, so that most of their connections are idle. */
function startCallers(call: (turn: number, caller: number) => Promise<void>, longestPause: number) {
  let isOver = false
  const caller = async (_: unknown, i: number) => {
    for (let turn = i; !isOver; turn += 1) {
      await call(turn, i)
      await delay(Math.random() * longestPause)
    }
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, caller))
  callers.catch(() => {})
  return {
    /** Rejects if a call has failed. */
    async stop() {
      isOver = true
      await callers
    },
  }
}

test("fetch without retries loses no request when servers restart, if it asks /readyz, and no lease is lost", async () => {
  const args = ["--config", configFile("shutdownDelay: 1s"), "--redis", redis.url]
  const ports = [await freePort(), await freePort()]
  const services = await Promise.all(ports.map((port) => startService(args, { port })))
  const links = await Promise.all(ports.map((port) => slowLink(port, LATENCY)))

  const isReady = [true, true]
  const poll = setInterval(() => {
    for (const [i, port] of ports.entries()) {
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        async (response) => {
          await response.arrayBuffer()
          isReady[i] = response.ok
        },
        () => {
          isReady[i] = false
        },
      )
    }
  }, 250)
  let admitted = 0
  const callers = startCallers(async (turn) => {
    const chosen = isReady[turn % 2] ? turn % 2 : (turn + 1) % 2
    const status = await post((links[chosen] as SlowLink).url)
    if (status !== 200) throw new Error(`status ${status}`)
    admitted += 1
  }, 200)

  for (const [i, service] of services.entries()) {
    await delay(1_000)
    expect(await service.stop()).toBe(0)
    services[i] = await startService(args, { port: ports[i] as number })
    await expect.poll(() => isReady[i]).toBe(true)
  }
  await delay(500)
  await callers.stop()
  clearInterval(poll)
  expect(links.map(({ lost }) => lost)).toEqual([0, 0])

  expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0])
  const last = await startService(args)
  const inspection = await fetch(`${last.url}/v1/limiters/leased/inspect?key=all`)
  expect(await inspection.json()).toMatchObject({ policies: [{ used: admitted }] })
})

test("a drain cuts off no request on an idle connection, even if clients do not ask /readyz", async () => {
  const port = await freePort()
  const service = await startService(["--config", configFile("drain: 9s")], { port })
  const link = await slowLink(port, LATENCY)
  let [answered, failed] = [0, 0]
  // With a timeout of its own, an agent keeps to the one that the server announces.
  const agents = Array.from(
    { length: CALLERS },
    () => new Agent({ keepAlive: true, maxSockets: 1, timeout: 60_000 }),
  )
  const callers = startCallers(async (_, i) => {
    await acquire(link, "leased", { key: "all" }, { agent: agents[i] as Agent }).then(
      () => {
        answered += 1
      },
      // The connection was refused, so a caller would go to another server now.
      () => {
        failed += 1
      },
    )
  }, 4_000)
  await delay(4_500)
  const before = answered
  const start = performance.now()
  expect(await service.stop()).toBe(0)
  const took = performance.now() - start
  await callers.stop()
  for (const agent of agents) agent.destroy()
  expect(answered).toBeGreaterThanOrEqual(before + CALLERS * 0.9)
  expect(failed).toBeGreaterThan(0)
  expect(link.lost).toBe(0)
  expect(took).toBeLessThan(9_000)
})

test("a gRPC client without a retry policy loses no request when servers restart", async () => {
  const args = ["--config", configFile("shutdownDelay: 200ms"), "--redis", redis.url]
  const ports = [await freePort(), await freePort()]
  const start = (port: number) => startService([...args, "--grpc", `127.0.0.1:${port}`])
  const services = await Promise.all(ports.map(start))
  const links = await Promise.all(ports.map((port) => slowLink(port, LATENCY)))

  const client = new Client(
    `ipv4:${links.map((link) => `127.0.0.1:${link.port}`).join(",")}`,
    credentials.createInsecure(),
    {
      "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 200,
    },
  )
  const asIs = (bytes: Buffer) => bytes
  const message = requestBytes("edge", [on("user", "all")])
  const path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
  let done = 0
  const callers = startCallers(
    () =>
      new Promise((resolve, reject) => {
        const deadline = Date.now() + 10_000
        client.makeUnaryRequest(path, asIs, asIs, message, { deadline }, (error, reply) => {
          if (error !== null) return reject(error)
          if (codes[reply?.[1] ?? 0] !== "OK") return reject(new Error("denied"))
          done += 1
          resolve()
        })
      }),
    50,
  )
  for (const [i, service] of services.entries()) {
    await delay(1_000)
    expect(await service.stop()).toBe(0)
    services[i] = await start(ports[i] as number)
  }
  await delay(1_000)
  await callers.stop()
  client.close()
  expect(done).toBeGreaterThan(1_000)
})
