import { readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { Client, credentials } from "@grpc/grpc-js"
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest"
import { command, type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { freePort, until } from "../../../sluice/test/support/server-process.js"
import { temporaryFile } from "../support/folder.js"
import { acquire, send } from "../support/http.js"
import { type Service, sluice, startService } from "../support/service.js"

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

// Each test starts three processes, on cores that other tests use.
vi.setConfig({ testTimeout: 120_000 })

const text = (limit: number) =>
  `limiters: { api: { policy: { algorithm: fixedWindow, limit: ${limit}, window: 1h } } }\n`

async function startWithWorkers(
  file = temporaryFile("sluice.yaml", text(100)),
  options = {},
  more: readonly string[] = [],
): Promise<Service> {
  await command(redis.port, "FLUSHALL")
  const port = await freePort()
  const args = ["--config", file, "--redis", redis.url, "--workers", "2", ...more]
  const service = await startService(args, { port, ...options })
  await service.logged("HTTP listens", 2)
  return service
}

function workersOf({ pid }: Service): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  const isWorker = (child: number) =>
    readFileSync(`/proc/${child}/environ`, "utf8").includes("NODE_UNIQUE_ID=")
  return text === "" ? [] : text.split(" ").map(Number).filter(isWorker)
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test("two workers on Redis share the listener and admit exactly the limit", async () => {
  const service = await startWithWorkers()
  const workers = workersOf(service)
  expect(workers).toHaveLength(2)
  const replies = await Promise.all(Array.from({ length: 200 }, () => acquire(service, "api", { key: "a" })))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(100)
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(100)
  expect(await service.stop()).toBe(0)
  expect(workers.filter(isAlive)).toEqual([])
  expect(service.log.filter(({ msg }) => msg === "draining")).toHaveLength(2)
})

test("workers share the listener for gRPC, too", async () => {
  const port = await freePort()
  const service = await startWithWorkers(undefined, {}, ["--grpc", `127.0.0.1:${port}`])
  await service.logged("gRPC listens", 2)
  const asIs = (bytes: Buffer) => bytes
  const check = () =>
    new Promise((resolve, reject) => {
      const options = { "grpc.use_local_subchannel_pool": 1 }
      const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options)
      client.makeUnaryRequest("/grpc.health.v1.Health/Check", asIs, asIs, Buffer.alloc(0), (error, reply) => {
        client.close()
        if (error === null) resolve([...(reply ?? [])])
        else reject(error)
      })
    })
  // Field 1 is the status, and 1 is SERVING.
  const replies = await Promise.all(Array.from({ length: 10 }, check))
  expect(replies).toEqual(Array.from({ length: 10 }, () => [8, 1]))
  expect(await service.stop()).toBe(0)
  await expect(check()).rejects.toThrow("UNAVAILABLE")
})

test("with several workers, the greeting is printed once", async () => {
  const args = ["--redis", redis.url, "--workers", "2"]
  const service = await startService(args, { port: await freePort() })
  await service.logged("HTTP listens", 2)
  await until("the greeting is there", async () => service.stderr.includes("Sluice is running"))
  expect(await service.stop()).toBe(0)
  expect(service.stderr.match(/Sluice is running/g)).toHaveLength(1)
})

test.each([1, 2])(
  "a port that is taken ends %i workers with exit code 1 and names the address",
  async (workers) => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void taken.close())
    const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`
    const free = `127.0.0.1:${await freePort()}`
    for (const [http, grpc, name] of [
      [address, "off", "http"],
      [free, address, "grpc"],
    ] as const) {
      const args = ["--http", http, "--grpc", grpc, "--redis", redis.url, "--workers", `${workers}`]
      const program = sluice(["serve", ...args])
      expect(await program.ended, program.stderr).toBe(1)
      expect(program.stderr).toContain(
        `sluice serve: ${address} is in use; choose another address with --${name} or listen.${name}\n`,
      )
    }
  },
)

test("several workers need Redis: with a memory store the command ends with exit code 2", async () => {
  const file = temporaryFile("sluice.yaml", text(1))
  const program = sluice([
    "serve",
    "--config",
    file,
    "--http",
    "127.0.0.1:0",
    "--grpc",
    "off",
    "--workers",
    "2",
  ])
  expect(await program.ended).toBe(2)
  expect(program.stderr).toContain("--workers needs Redis")
})

test("a worker that is killed under load is replaced, and no request hangs", async () => {
  const service = await startWithWorkers(temporaryFile("sluice.yaml", text(1_000_000)))
  const [first = 0, second = 0] = workersOf(service)
  let isOver = false
  const outcomes: { readonly what: number | string; readonly ms: number; readonly at: number }[] = []
  const caller = async () => {
    while (!isOver) {
      const at = performance.now()
      const late = delay(10_000, "nothing", { ref: false })
      const reply = acquire(service, "api", { key: "b" }).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      )
      outcomes.push({ what: await Promise.race([reply, late]), ms: performance.now() - at, at })
    }
  }
  const callers = Promise.all(Array.from({ length: 30 }, caller))
  await expect.poll(() => outcomes.length, { timeout: 30_000 }).toBeGreaterThan(300)
  process.kill(first, "SIGKILL")
  const killedAt = performance.now()
  await service.logged("HTTP listens", 3)
  const replacedAfter = performance.now() - killedAt
  await delay(Math.max(0, 3_000 - replacedAfter))
  isOver = true
  await callers
  // The connections of the worker that is gone are reset. All others are answered.
  const late = outcomes.filter(({ at }) => at > killedAt + 2_000)
  expect(new Set(outcomes.map(({ what }) => what))).toEqual(new Set([200, "ECONNRESET"]))
  expect(new Set(late.map(({ what }) => what))).toEqual(new Set([200]))
  expect(Math.max(...outcomes.map(({ ms }) => ms))).toBeLessThan(5_000)
  // A start takes a second alone, and longer while the other worker answers requests on the same cores.
  expect(replacedAfter).toBeLessThan(20_000)

  const workers = workersOf(service)
  expect(workers).toHaveLength(2)
  expect(workers).toContain(second)
  expect(workers).not.toContain(first)
  expect(await service.stop()).toBe(0)
})

test("metrics are those of all workers together, whichever answers", async () => {
  const service = await startWithWorkers()
  await Promise.all(Array.from({ length: 150 }, () => acquire(service, "api", { key: "a" })))
  for (let i = 0; i < 6; i += 1) {
    const { text, status } = await send(`${service.url}/metrics`)
    expect(status).toBe(200)
    const counts = [...text.matchAll(/^sluice_decisions\w*\{[^}]*limiter="api"[^}]*\} (\d+)$/gm)]
    expect(counts.map(([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)).toBe(150)
    expect(text).toMatch(/^sluice_policy_limit\{[^}]*limiter="api"[^}]*\} 100$/m)
  }
  expect(await service.stop()).toBe(0)
})

test("Ctrl-C, which signals the whole process group, stops all workers at once with exit code 0", async () => {
  const file = temporaryFile("sluice.yaml", `http: { shutdownDelay: 1m }\n${text(100)}`)
  const service = await startWithWorkers(file, { hasOwnGroup: true })
  const workers = workersOf(service)
  const start = performance.now()
  process.kill(-service.pid, "SIGINT")
  expect(await service.ended).toBe(0)
  expect(performance.now() - start).toBeLessThan(20_000)
  expect(workers.filter(isAlive)).toEqual([])
})

test("SIGHUP reloads the configuration of all workers", async () => {
  const file = temporaryFile("sluice.yaml", text(100))
  const service = await startWithWorkers(file)
  service.signal("SIGHUP")
  await service.logged("configuration reloaded", 2)
  expect(await service.stop()).toBe(0)
})

test("workers that cannot listen end the command instead of being replaced for ever", async () => {
  const service = await startWithWorkers()
  const file = temporaryFile("sluice.yaml", text(1))
  const args = ["serve", "--config", file, "--redis", redis.url, "--workers", "2", "--grpc", "off"]
  const second = sluice([...args, "--http", `127.0.0.1:${service.port}`])
  expect(await second.ended).toBe(1)
  expect((await send(`${service.url}/healthz`)).status).toBe(200)
})

test("when the parent process is killed, its workers end", async () => {
  const service = await startWithWorkers()
  const workers = workersOf(service)
  await service.kill()
  await until("the workers are gone", async () => !workers.some(isAlive))
})
