import { setTimeout as delay } from "node:timers/promises"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { command, type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { freePort } from "../../../sluice/test/support/server-process.js"
import { temporaryFile } from "../support/folder.js"
import { acquire, keepAlive, quantile, type Reply } from "../support/http.js"
import { type Service, startService } from "../support/service.js"

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const limit = 3_000

// Several processes start one after the other, on cores that other tests use.
vi.setConfig({ testTimeout: 120_000 })

function configFile(): string[] {
  const policy = `{ algorithm: fixedWindow, limit: ${limit}, window: 1h }`
  const text = `limiters:
  exact: { policy: ${policy} }
  leased: { policy: ${policy}, lease: { time: 2s, share: 0.1 } }
  wide: { policy: { algorithm: tokenBucket, capacity: 1000000, refill: 1000000, every: 1s } }
`
  return ["--config", temporaryFile("sluice.yaml", text), "--redis", redis.url]
}

test("two servers on one Redis admit exactly the limit together under 200 concurrent callers", async () => {
  const services = await Promise.all([startService(configFile()), startService(configFile())])
  const agent = keepAlive()
  const caller = async (i: number) => {
    const statuses: number[] = []
    for (let call = 0; call < 25; call += 1) {
      const service = services[(i + call) % 2] as Service
      statuses.push((await acquire(service, "exact", { key: "all" }, { agent })).status)
    }
    return statuses
  }
  const statuses = (await Promise.all(Array.from({ length: 200 }, (_, i) => caller(i)))).flat()
  agent.destroy()
  const count = (status: number) => statuses.filter((each) => each === status).length
  expect([count(200), count(429), statuses.length]).toEqual([limit, 2_000, 5_000])
})

/** A client with a connection to each of the servers. It sends a request again only if the connection was refused. */
function fleetClient(ports: readonly number[]) {
  const agent = keepAlive(1)
  return {
    agent,
    async acquire(first: number, limiter: string, key: string): Promise<Reply> {
      for (let attempt = 0; ; attempt += 1) {
        const url = `http://127.0.0.1:${ports[(first + attempt) % ports.length]}`
        try {
          return await acquire({ url }, limiter, { key }, { agent })
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED" || attempt === 3) throw error
        }
      }
    },
  }
}

/** Calls until the limit is reached: all callers are denied by both servers for longer than a lease lives. */
async function admittedUnderLoad(ports: readonly number[], during: () => Promise<void>): Promise<number> {
  let [admitted, lastGrant, isOver] = [0, performance.now(), false]
  const call = async (i: number) => {
    const client = fleetClient(ports)
    for (let turn = i; !(isOver && performance.now() - lastGrant > 4_000); turn += 1) {
      const { status, text } = await client.acquire(turn, "leased", "all")
      if (status === 200) {
        admitted += 1
        lastGrant = performance.now()
      } else if (status !== 429) throw new Error(`${status} ${text}`)
      // Slow enough that the limit lasts until both servers have restarted.
      await delay(30)
    }
    client.agent.destroy()
  }
  const callers = Promise.all(Array.from({ length: 10 }, (_, i) => call(i)))
  await Promise.race([during(), callers])
  isOver = true
  await callers
  return admitted
}

test("a rolling restart under load drops no request and gives all leases back", async () => {
  const ports = [await freePort(), await freePort()]
  const args = configFile()
  const services = await Promise.all(ports.map((port) => startService(args, { port })))
  const admitted = await admittedUnderLoad(ports, async () => {
    for (const [i, service] of services.entries()) {
      await delay(500)
      expect(await service.stop()).toBe(0)
      services[i] = await startService(args, { port: ports[i] as number })
    }
    await delay(300)
  })
  expect(admitted).toBe(limit)
})

test("a server that is killed instead loses its leases, and the rest of the limit is still admitted exactly", async () => {
  await command(redis.port, "FLUSHALL")
  const ports = [await freePort(), await freePort()]
  const args = configFile()
  const services = await Promise.all(ports.map((port) => startService(args, { port })))
  let admitted = 0
  const call = async (turns: number) => {
    const client = fleetClient(ports)
    for (let turn = 0; turn < turns; turn += 1) {
      if ((await client.acquire(0, "leased", "all")).status === 200) admitted += 1
    }
    client.agent.destroy()
  }
  await Promise.all(Array.from({ length: 20 }, () => call(20)))
  await services[0]?.kill()
  const rest = await admittedUnderLoad([ports[1] as number], async () => {})
  expect(admitted + rest).toBeLessThan(limit)
  expect(admitted + rest).toBeGreaterThan(limit * 0.8)
})

test("1,000 concurrent callers on Redis get no error", async () => {
  const service = await startService(configFile())
  const agent = keepAlive()
  const caller = async (i: number) => {
    const replies: Reply[] = []
    for (let call = 0; call < 8; call += 1) {
      replies.push(await acquire(service, "wide", { key: `caller ${i}` }, { agent }))
    }
    return replies
  }
  const replies = (await Promise.all(Array.from({ length: 1_000 }, (_, i) => caller(i)))).flat()
  agent.destroy()
  expect(replies).toHaveLength(8_000)
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(replies.every(({ json }) => json.degraded === false)).toBe(true)
  const p99 = quantile(
    replies.map(({ ms }) => ms),
    0.99,
  )
  console.log(`1,000 concurrent callers, client and server on one machine: p99 ${Math.round(p99)} ms`)
})
