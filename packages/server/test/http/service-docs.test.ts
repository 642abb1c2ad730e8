import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { configKeys, readConfig } from "../../src/config/read-config.js"
import { limiterKeys } from "../../src/config/read-limiter.js"
import { storeKeys } from "../../src/config/read-store.js"
import { startHttp } from "./http-rig.js"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../../..", import.meta.url))
const page = readFileSync(`${root}/docs/service.md`, "utf8")
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, code]) => code as string)

test("every curl command of docs/service.md succeeds against a server with the sample configuration", async () => {
  const config = readFileSync(`${root}/packages/server/sample.yaml`, "utf8")
  const rig = await startHttp({ config })
  const commands = blocks("sh").filter((block) => block.startsWith("curl"))
  expect(commands.length).toBeGreaterThanOrEqual(5)
  for (const command of commands) {
    const script = command
      .replaceAll("http://127.0.0.1:8080", rig.url)
      .replaceAll(/^curl/gm, "curl -sS --fail")
    await expect(run("bash", ["-e", "-c", script]), command).resolves.toMatchObject({ stderr: "" })
  }
  await rig.stop()
})

test("the configuration in docs/service.md loads", () => {
  const [text = ""] = blocks("yaml")
  expect([...readConfig([{ name: "docs", text }], {}).limiters.keys()]).toEqual(["api", "uploads"])
})

test("docs/service.md has a row for every section of the configuration, and every field of a store and a limiter", () => {
  const rows = [...page.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, names]) => names as string).join(" ")
  for (const key of configKeys) expect(rows).toMatch(new RegExp(`\`${key}\\b`))
  for (const key of storeKeys) expect(rows).toContain(`\`store.${key}\``)
  for (const key of limiterKeys) expect(rows).toContain(`\`${key}\``)
})
