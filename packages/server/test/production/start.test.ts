import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { until } from "../../../sluice/test/support/server-process.js"
import { root } from "../support/program.js"
import { sluice, startService } from "../support/service.js"

const shell = promisify(execFile)

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
