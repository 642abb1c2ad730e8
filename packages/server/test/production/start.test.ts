import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { pino } from "pino"
import { expect, onTestFinished, test } from "vitest"
import { until } from "../../../sluice/test/support/server-process.js"
import { greeting } from "../../src/cli/greeting.js"
import { readConfig } from "../../src/config/read-config.js"
import { serve } from "../../src/serve.js"
import { root } from "../support/program.js"
import { sluice, startService } from "../support/service.js"

const shell = promisify(execFile)

const open = `listen: { http: "0.0.0.0:0", grpc: false }
limiters: { api: { policy: { algorithm: fixedWindow, limit: 5, window: 1h } } }
`
const freePorts = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]

/** The commands that the greeting shows. */
const commandsIn = (text: string) => text.match(/^ {2}curl .+$/gm) ?? []

test("without a file, it prints two curl commands that work, and Ctrl-C stops it with exit code 0", async () => {
  const service = await startService(freePorts)
  await until("the greeting is complete", async () => service.stderr.includes("gRPC:"))
  const commands = commandsIn(service.stderr)
  expect(commands).toHaveLength(2)

  const outputs: string[] = []
  for (const command of commands) {
    outputs.push((await shell("sh", ["-c", `${command} -sS --max-time 5`])).stdout)
    // As long as a person takes.
    await delay(1_000)
  }
  const [acquire = "", inspect = ""] = outputs
  expect(acquire).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(acquire).toMatch(/\r\nRateLimit: "api";r=9;t=\d+\r\n/i)
  expect(acquire).toContain('"allowed":true')
  expect(JSON.parse(inspect)).toMatchObject({ policies: [{ used: 1, remaining: 9, limit: 10 }] })

  service.signal("SIGINT")
  expect(await service.ended).toBe(0)
  expect(service.stderr).not.toMatch(/error|warn/i)
})

const token = "a-token-of-the-administrators"

test.each([
  [
    "with a name to encode",
    "limiters: { \"my 'api'!(*)\": { policy: { algorithm: fixedWindow, limit: 5, window: 1h } } }",
    2,
  ],
  [
    "with a token",
    `admin: { token: ${token} }\nlimiters: { api: { policy: { algorithm: fixedWindow, limit: 5, window: 1h } } }`,
    2,
  ],
  [
    "with only a domain",
    "domain: edge\ndescriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 5 } }]",
    1,
  ],
  ["without limits", "limiters: {}", 0],
])("the commands of the greeting work for a file %s", async (_, text, count) => {
  const config = readConfig(
    [{ name: "f", text: `listen: { http: "127.0.0.1:0", grpc: false }\n${text}` }],
    {},
  )
  const server = await serve(config, { log: pino({ level: "silent" }) })
  onTestFinished(() => server.close({ isPrompt: true }))
  const said = greeting(server)
  expect(said).not.toContain(token)
  const commands = commandsIn(said)
  expect(commands).toHaveLength(count)
  const env = { ...process.env, SLUICE_ADMIN_TOKEN: token }
  for (const command of commands) {
    const { stdout } = await shell("sh", ["-c", `${command} -sS --fail-with-body --max-time 5`], { env })
    expect(stdout).toContain("{")
  }
})

test("beyond loopback without a token, the greeting has no admin call", async () => {
  const server = await serve(readConfig([{ name: "f", text: open }], {}), { log: pino({ level: "silent" }) })
  onTestFinished(() => server.close({ isPrompt: true }))
  expect(commandsIn(greeting(server))).toEqual([expect.stringContaining("/v1/limiters/api/acquire")])
})

test("npm start builds, and runs the command without arguments", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  expect(scripts.start).toBe("npm run build --silent && node packages/server/dist/main.js serve")
})

test("without a file, it listens on loopback only and keeps its state in memory", async () => {
  const program = sluice(["serve", "--print-config"])
  expect(await program.ended).toBe(0)
  expect(JSON.parse(program.stdout)).toMatchObject({
    listen: { http: { host: "127.0.0.1", port: 8080 }, grpc: { host: "127.0.0.1", port: 8081 } },
    store: { type: "memory" },
  })
})

test("a port that is taken ends the command with a message that names it", async () => {
  const first = await startService(freePorts)
  const second = sluice(["serve", "--http", `127.0.0.1:${first.port}`, "--grpc", "off"])
  expect(await second.ended).toBeGreaterThan(0)
  expect(second.stderr).toMatch(new RegExp(`^sluice serve: .*${first.port}`, "m"))
  expect(second.stderr).not.toContain("    at ")
})
