import { type AddressInfo, createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, expect, test } from "vitest"
import { startRedis } from "../../sluice/test/support/redis-server.js"
import type { StoreConfig } from "../src/config/config.js"
import { readConfig } from "../src/config/read-config.js"
import { createEngine, type Engine } from "../src/engine.js"

const engines: Engine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

const configOf = (text: string) => readConfig([{ name: "f", text }], {})
const window = (limit: number, more = "") =>
  configOf(`limiters: { api: { policy: { algorithm: fixedWindow, limit: ${limit}, window: 1h }${more} } }`)
const engineOf = (...args: Parameters<typeof createEngine>) => {
  const engine = createEngine(...args)
  engines.push(engine)
  return engine
}
const api = (engine: Engine) => engine.limiter("api") as NonNullable<ReturnType<Engine["limiter"]>>
const admitted = async (engine: Engine, tries: number) => {
  const decisions = await Promise.all(Array.from({ length: tries }, () => api(engine).tryAcquire("k")))
  return decisions.filter(({ allowed }) => allowed).length
}

test("a reload changes a limit and keeps what was spent", async () => {
  const engine = engineOf(window(10))
  expect(await admitted(engine, 20)).toBe(10)
  expect(engine.reload(window(15))).toEqual([])
  expect(await admitted(engine, 20)).toBe(5)
  engine.reload(window(3))
  expect(await admitted(engine, 20)).toBe(0)
})

test("requests that wait survive a reload", async () => {
  const bucket = (capacity: number) =>
    configOf(
      `limiters: { api: { policy: { algorithm: tokenBucket, capacity: ${capacity}, refill: 20, every: 1s } } }`,
    )
  const engine = engineOf(bucket(1))
  await api(engine).tryAcquire("k")
  const waiting = api(engine).acquire("k")
  engine.reload(bucket(2))
  expect((await waiting).allowed).toBe(true)
})

test("a limiter that a reload removes is gone, and its waiters have their turns", async () => {
  const engine = engineOf(
    configOf("limiters: { api: { policy: { algorithm: tokenBucket, capacity: 1, refill: 20, every: 1s } } }"),
  )
  const limiter = api(engine)
  await limiter.tryAcquire("k")
  const waiting = limiter.acquire("k")
  engine.reload(configOf("limiters: {}"))
  expect(engine.limiter("api")).toBeUndefined()
  expect((await waiting).allowed).toBe(true)
})

test("waiters of a removed limiter have their turns, also if maxWait is longer than a timer of Node", async () => {
  const policy = "{ algorithm: tokenBucket, capacity: 1, refill: 10, every: 1s }"
  const engine = engineOf(configOf(`limiters: { api: { policy: ${policy}, maxWait: 30d } }`))
  const limiter = api(engine)
  await limiter.tryAcquire("k")
  const waiting = limiter.acquire("k")
  engine.reload(configOf("limiters: {}"))
  expect((await waiting).allowed).toBe(true)
})

test("a Redis store that cannot be made leaves no connection behind", async () => {
  const connections: Socket[] = []
  const server = createServer((socket) => void connections.push(socket.on("error", () => {})))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const config = configOf(`store: redis://127.0.0.1:${port}\nlimiters: {}`)
  expect(() => createEngine({ ...config, store: { ...config.store, prefix: "{" } as StoreConfig })).toThrow(
    "prefix",
  )
  await sleep(200)
  expect(connections.filter(({ closed, readyState }) => !closed && readyState === "open")).toEqual([])
  for (const socket of connections) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test("a reload with another outage policy makes a new limiter on the same counters", async () => {
  const engine = engineOf(window(10))
  const before = api(engine)
  expect(await admitted(engine, 4)).toBe(4)
  engine.reload(window(10, ", outage: { then: open }"))
  expect(api(engine)).not.toBe(before)
  expect(await admitted(engine, 20)).toBe(6)
})

test("a reload that changes the algorithm says that the new one starts with empty state", () => {
  const engine = engineOf(window(10))
  const next = configOf("limiters: { api: { policy: { algorithm: slidingLog, limit: 10, window: 1h } } }")
  expect(engine.reload(next)).toEqual([
    "limiter api, policy default: fixedWindow became slidingLog, which starts with empty state",
  ])
})

test("a reload cannot change the store, and says so", () => {
  const engine = engineOf(window(10))
  const next = { ...window(10), store: { type: "memory", maxKeys: 7 } as const }
  expect(engine.reload(next)).toEqual(["the store has changed in the file; restart the server to use it"])
  expect(engine.config.store).toEqual({ type: "memory", maxKeys: undefined })
})

test("a mode of a file changes at a reload", async () => {
  const engine = engineOf(window(1))
  expect(await admitted(engine, 5)).toBe(1)
  engine.reload(window(1, ", mode: observe"))
  expect(await admitted(engine, 5)).toBe(5)
})

test("reloads under load never admit more than the larger of the two limits", async () => {
  const server = await startRedis()
  try {
    const store = {
      type: "redis",
      servers: { url: server.url },
      prefix: undefined,
      delivery: undefined,
    } as const
    for (const lease of ["", ", lease: true"]) {
      const of = (limit: number) => ({ ...window(limit, lease), store })
      const engine = engineOf(of(300))
      await until(() => engine.ready())
      const key = `k${lease}`
      let isOver = false
      let count = 0
      const ask = async () => {
        while (!isOver) {
          const { allowed } = await api(engine).tryAcquire(key)
          if (allowed) count += 1
          // Cached denials come without I/O, so the loop must let the timers run.
          await sleep(1)
        }
      }
      const load = Array.from({ length: 50 }, ask)
      for (let i = 0; i < 20; i += 1) {
        engine.reload(of(i % 2 === 0 ? 500 : 300))
        await sleep(20)
      }
      engine.reload(of(500))
      await sleep(400)
      isOver = true
      await Promise.all(load)
      expect(count).toBeLessThanOrEqual(500)
      expect(count).toBeGreaterThan(400)
    }
  } finally {
    await server.stop()
  }
})

test("the limits of descriptors have limiters of their own", async () => {
  const engine = engineOf(
    configOf(`
domain: d
descriptors:
  - { key: a, rate_limit: { unit: hour, requests_per_unit: 2 } }
  - { key: b, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
`),
  )
  const [a, b] = [engine.limiter("d/a"), engine.limiter("d/b")]
  const decisions = async (limiter = a) =>
    [await limiter?.tryAcquire("x"), await limiter?.tryAcquire("x"), await limiter?.tryAcquire("x")].map(
      (decision) => decision?.allowed,
    )
  expect(await decisions()).toEqual([true, true, false])
  expect(await decisions(b)).toEqual([true, true, true])
})

async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await sleep(10)
}
