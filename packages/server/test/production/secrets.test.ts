import { afterAll, beforeAll, expect, test } from "vitest"
import { command, type RedisServer, startRedis } from "../../../sluice/test/support/redis-server.js"
import { until } from "../../../sluice/test/support/server-process.js"
import { temporaryFile } from "../support/folder.js"
import { acquire, send } from "../support/http.js"
import { sluice, startService } from "../support/service.js"

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const limiters = `limiters: { api: { policy: { algorithm: fixedWindow, limit: 2, window: 1h } } }\n`
const token = "a token of the administrators"

test.each([
  "redis://:hunter2@localhost:6379",
  "redis://app:hunter2@localhost:6379/1",
  "redis://app:hun:hunter2@localhost:6379",
  "redis://app:hun@hunter2@localhost:6379",
])("--print-config hides the token and the password of %s", async (url) => {
  const text = `admin: { token: "${token}" }\nstore: ${JSON.stringify(url)}\n${limiters}`
  const program = sluice(["serve", "--config", temporaryFile("sluice.yaml", text), "--print-config"])
  expect(await program.ended).toBe(0)
  const printed = JSON.parse(program.stdout)
  expect(printed.limiters.api.policy).toMatchObject({ algorithm: "fixedWindow", limit: 2 })
  expect(printed.store.servers.url).toContain("localhost:6379")
  expect(program.stdout).not.toContain("hunter2")
  expect(program.stdout).not.toContain(token)
})

test.each(["rediss://localhost:6379?password=hunter2", "http://:hunter2@localhost", "app:hunter2@localhost"])(
  "the message about the bad URL %s hides its password",
  async (url) => {
    const file = temporaryFile("sluice.yaml", `store: { url: ${JSON.stringify(url)} }\n${limiters}`)
    const programs = [sluice(["serve", "--config", file]), sluice(["serve", "--redis", url])]
    expect(await Promise.all(programs.map(({ ended }) => ended))).toEqual([1, 2])
    for (const { stderr } of programs) {
      expect(stderr).toContain("localhost")
      expect(stderr).not.toContain("hunter2")
    }
  },
)

test("--print-config hides the passwords of Sentinel", async () => {
  const nodes = "nodes: [localhost:26379], password: hunter2, sentinelPassword: hunter2hunter2"
  const file = temporaryFile("sluice.yaml", `store: { sentinel: { name: main, ${nodes} } }\n${limiters}`)
  const program = sluice(["serve", "--config", file, "--print-config"])
  expect(await program.ended).toBe(0)
  expect(program.stdout).toContain("26379")
  expect(program.stdout).not.toContain("hunter2")
})

test("--print-config hides the passwords of a Cluster, and a token of the environment", async () => {
  const text = `store: { cluster: ["redis://:hunter2@localhost:7000", "redis://localhost:7001"] }\n${limiters}`
  const file = temporaryFile("sluice.yaml", text)
  const program = sluice(["serve", "--config", file, "--print-config"], {
    env: { SLUICE_ADMIN_TOKEN: token },
  })
  expect(await program.ended).toBe(0)
  expect(program.stdout).toContain("localhost:7001")
  expect(program.stdout).not.toContain("hunter2")
  expect(program.stdout).not.toContain(token)
})

test("--print-config shows limiters and policies that are called token or password", async () => {
  const policy = "{ algorithm: fixedWindow, limit: 7, window: 1h }"
  const text = `limiters: { tokens: { policy: ${policy} }, api: { policy: { password: ${policy}, token: ${policy} } } }\n`
  const program = sluice(["serve", "--config", temporaryFile("sluice.yaml", text), "--print-config"])
  expect(await program.ended).toBe(0)
  const { limiters: printed } = JSON.parse(program.stdout)
  expect(printed.tokens.policy).toMatchObject({ limit: 7 })
  expect(printed.api.policy).toMatchObject({ password: { limit: 7 }, token: { limit: 7 } })
})

test("the log at level info contains no key, no header of a client and no secret", async () => {
  const key = "secret-key-4711"
  const args = ["--config", temporaryFile("sluice.yaml", `admin: { token: "${token}" }\n${limiters}`)]
  const service = await startService([...args, "--redis", redis.url])
  const base = `${service.url}/v1`
  for (let i = 0; i < 4; i += 1) await acquire(service, "api", { key })
  await acquire(service, key, { key })
  await acquire(service, "api", { key: key.repeat(100) })
  await acquire(service, "api", { key, cost: -1 })
  await acquire(service, "api", { key, timeout: "1 fortnight" })
  const headers = { "x-api-key": key, "x-forwarded-for": `${key}, not-an-address` }
  for (const path of ["nginx", "forward-auth"]) {
    for (let i = 0; i < 3; i += 1) await send(`${base}/${path}/api?by=header:x-api-key`, { headers })
    await send(`${base}/${path}/api`, { headers })
  }
  for (const authorization of [`Bearer ${token}`, `Bearer ${key}`]) {
    await send(`${base}/limiters/api/inspect?key=${key}`, { headers: { authorization } })
    await send(`${base}/limiters/api/reset`, { body: { key }, headers: { authorization } })
    const body = { limiter: "api", key, action: "block", reason: key }
    await send(`${base}/rules`, { method: "PUT", body, headers: { authorization } })
  }
  await acquire(service, "api", { key })
  await redis.kill()
  await acquire(service, "api", { key })
  await redis.restart()
  expect(await service.stop()).toBe(0)
  const output = service.stdout + service.stderr
  expect(output).toContain("HTTP listens")
  expect(output).not.toContain(key)
  expect(output).not.toContain(token)
})

test("an API key that a proxy passes on is nowhere in Redis, and a client that is denied stays denied", async () => {
  await command(redis.port, "FLUSHALL")
  const service = await startService([
    "--config",
    temporaryFile("sluice.yaml", limiters),
    "--redis",
    redis.url,
  ])
  const headers = { "x-api-key": "secret-key-4711" }
  const url = `${service.url}/v1/forward-auth/api?by=header:x-api-key`
  const statuses: number[] = []
  for (let i = 0; i < 4; i += 1) statuses.push((await send(url, { headers })).status)
  expect(statuses).toEqual([204, 204, 429, 429])
  // The busiest keys are published once a second.
  let keys: string[] = []
  await until("the report of busy keys is there", async () => {
    keys = (await command(redis.port, "KEYS", "*")) as string[]
    return keys.length > 1
  })
  for (const key of keys) {
    expect(key).not.toContain("4711")
    expect(String(await command(redis.port, "DUMP", key))).not.toContain("4711")
  }
})

const adminCalls = [
  ["GET", "/limiters"],
  ["GET", "/limiters/api"],
  ["GET", "/limiters/api/inspect?key=a"],
  ["POST", "/limiters/api/inspect", { key: "a" }],
  ["POST", "/limiters/api/reset", { key: "a" }],
  ["POST", "/limiters/api/refund", { key: "a", cost: 1 }],
  ["GET", "/rules?limiter=api"],
  ["GET", "/rules/history"],
  ["PUT", "/rules", { limiter: "api", key: "a", action: "block" }],
  ["DELETE", "/rules", { limiter: "api", key: "a" }],
  ["GET", "/top"],
] as const

test("on 0.0.0.0 without a token, every admin call is refused, and decisions work", async () => {
  const service = await startService([
    "--config",
    temporaryFile("sluice.yaml", limiters),
    "--http",
    "0.0.0.0:0",
  ])
  for (const [method, path, body] of adminCalls) {
    const reply = await send(`${service.url}/v1${path}`, { method, body })
    expect(reply.status, `${method} ${path}`).toBe(403)
    expect(reply.json.detail).toContain("SLUICE_ADMIN_TOKEN")
  }
  expect((await acquire(service, "api", { key: "a" })).json).toMatchObject({ allowed: true, remaining: 1 })
})

test("with a token from the environment, admin calls need it on every address", async () => {
  const args = ["--config", temporaryFile("sluice.yaml", limiters), "--http", "0.0.0.0:0"]
  const service = await startService(args, { env: { SLUICE_ADMIN_TOKEN: token } })
  for (const [method, path, body] of adminCalls) {
    const url = `${service.url}/v1${path}`
    for (const authorization of ["", "Bearer", "Bearer x", `Basic ${token}`, `Bearer ${token}x`]) {
      expect((await send(url, { method, body, headers: { authorization } })).status).toBe(401)
    }
    const allowed = await send(url, { method, body, headers: { authorization: `Bearer ${token}` } })
    expect(allowed.status, `${method} ${path} ${allowed.text}`).toBeLessThan(300)
  }
})
