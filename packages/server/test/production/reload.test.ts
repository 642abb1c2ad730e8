import { renameSync, writeFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { pino } from "pino"
import { expect, onTestFinished, test } from "vitest"
import { until } from "../../../sluice/test/support/server-process.js"
import { readConfig } from "../../src/config/read-config.js"
import { serve } from "../../src/serve.js"
import { temporaryFile } from "../support/folder.js"
import { acquire, send } from "../support/http.js"
import { startService } from "../support/service.js"

const text = (limit: number, algorithm = "fixedWindow") =>
  `limiters:\n  api:\n    policy: { algorithm: ${algorithm}, limit: ${limit}, window: 1h }\n`

/** Replaces a file in one step, as editors and deploys do. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

test("a file that changes is reloaded, and what was spent stays spent", async () => {
  const file = temporaryFile("sluice.yaml", text(2))
  const service = await startService(["--config", file])
  const call = async () => (await acquire(service, "api", { key: "a" })).status
  expect([await call(), await call(), await call()]).toEqual([200, 200, 429])
  replace(file, text(3))
  await service.logged("configuration reloaded")
  expect([await call(), await call()]).toEqual([200, 429])
})

test("SIGHUP reloads at once, even if the file is the same", async () => {
  const file = temporaryFile("sluice.yaml", text(1))
  const service = await startService(["--config", file])
  service.signal("SIGHUP")
  await service.logged("configuration reloaded", 1)
  replace(file, text(2))
  service.signal("SIGHUP")
  await service.logged("configuration reloaded", 2)
  const { json } = await acquire(service, "api", { key: "a" })
  expect(json).toMatchObject({ limit: 2, remaining: 1 })
  expect(await service.stop()).toBe(0)
})

test("a bad file is logged with its position, the old one stays in force, and a good one is taken again", async () => {
  const file = temporaryFile("sluice.yaml", text(5))
  const service = await startService(["--config", file])
  replace(file, text(-1))
  const refusal = "the new configuration is refused; the old one stays in force"
  const { level, problems } = await service.logged(refusal)
  expect(level).toBe(50)
  expect(problems).toMatch(`${file}:3:46: limit must be`)
  expect((await acquire(service, "api", { key: "a" })).json).toMatchObject({ limit: 5, remaining: 4 })
  // It looks at the file once a second, and logs the same problem once.
  await delay(2_500)
  expect(service.log.filter(({ msg }) => msg === refusal)).toHaveLength(1)
  replace(file, text(6))
  await service.logged("configuration reloaded")
  expect((await acquire(service, "api", { key: "a" })).json).toMatchObject({ limit: 6, remaining: 4 })
})

test("a changed algorithm is logged as a warning, because it starts with empty state", async () => {
  const file = temporaryFile("sluice.yaml", text(5))
  const service = await startService(["--config", file])
  await acquire(service, "api", { key: "a" })
  replace(file, text(5, "slidingLog"))
  await service.logged("configuration reloaded")
  const warnings = service.log.filter(({ level }) => level === 40).map(({ msg }) => msg)
  expect(warnings).toEqual([
    "limiter api, policy default: fixedWindow became slidingLog, which starts with empty state",
  ])
})

const admin = (token: string, more = "") => `admin: { token: ${token} }\n${more}${text(5)}`
const [oldToken, newToken] = ["the-old-token-of-admins", "the-new-token-of-admins"]

test("a new token is in force after a reload, and the old one no longer is", async () => {
  const file = temporaryFile("sluice.yaml", admin(oldToken))
  const service = await startService(["--config", file])
  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await send(`${service.url}/v1/limiters`, { headers })).status
  }
  expect([await statusWith(oldToken), await statusWith(newToken)]).toEqual([200, 401])
  replace(file, admin(newToken))
  await service.logged("configuration reloaded")
  expect([await statusWith(oldToken), await statusWith(newToken)]).toEqual([401, 200])
})

test("a reload takes the level of the log, and warns of what needs a restart", async () => {
  const file = temporaryFile("sluice.yaml", text(5))
  const service = await startService(["--config", file])
  const listen = 'listen: { http: "127.0.0.1:7777", grpc: "127.0.0.1:7778" }'
  replace(file, `${listen}\nhttp: { headers: legacy, drain: 1s }\nlog: { level: debug }\n${text(5)}`)
  await service.logged("configuration reloaded")
  const warnings = () => service.log.filter(({ level }) => level === 40).map(({ msg }) => msg)
  // The command line says where to listen, so listen has not changed.
  expect(warnings()).toEqual(["http.headers has changed in the file; restart the server to use it"])
  await acquire(service, "none", { key: "a" })
  await until("the log has details", async () => service.log.some(({ level }) => level === 20))
})

test("a reload with another address warns that it needs a restart", async () => {
  const configOf = (port: number) =>
    readConfig([{ name: "f", text: `listen: { http: "127.0.0.1:${port}", grpc: false }\n${text(5)}` }], {})
  const lines: string[] = []
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  const server = await serve(configOf(0), { log })
  onTestFinished(() => server.close({ isPrompt: true }))
  server.reload(configOf(0))
  expect(lines).toEqual([])
  server.reload(configOf(7_777))
  expect(lines).toEqual(["listen has changed in the file; restart the server to use it"])
})
