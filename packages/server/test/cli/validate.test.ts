import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { sluice } from "./fake-terminal.js"

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sluice-validate-"))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(dir, name)
  writeFileSync(path, text)
  return path
}

const good = "limiters:\n  api:\n    policy: { algorithm: fixedWindow, limit: 5, window: 1m }\n"

test("a good file exits with 0 and says what is in it", async () => {
  const run = await sluice(["validate", file("good.yaml", good)])
  expect(run).toEqual({ code: 0, out: "ok, files: 1, limiters: 1, domains: 0\n", err: "" })
})

test("every problem is printed as file, line, column and message, and exits with 1", async () => {
  const path = file(
    "bad.yaml",
    "limiters:\n  api:\n    polcy: {}\n  b:\n    policy: { algorithm: fixedWindow, limit: -1, window: 1m }\n",
  )
  const { code, out } = await sluice(["validate", path])
  expect(code).toBe(1)
  expect(out).toContain(`${path}:3:5: unknown key "polcy"; did you mean policy?\n`)
  expect(out).toMatch(/bad\.yaml:5:\d+: .*limit/)
})

test("--json has the problems as objects", async () => {
  const path = file("worse.yaml", "limiters: [")
  const { code, out } = await sluice(["validate", path, "--json"])
  expect(code).toBe(1)
  expect(JSON.parse(out)).toMatchObject({ valid: false, problems: [{ file: path, line: 1 }] })
})

test("--json of a good file names its limiters, those of descriptors included", async () => {
  const envoy =
    "domain: web\ndescriptors:\n  - key: user\n    rate_limit: { unit: second, requests_per_unit: 5 }\n"
  const { out } = await sluice(["validate", file("a.yaml", good), file("b.yaml", envoy), "--json"])
  expect(JSON.parse(out)).toEqual({
    valid: true,
    problems: [],
    files: 2,
    limiters: 1,
    domains: 1,
    names: ["api", "web/user"],
  })
})

test("a file that is not there is a problem with its name", async () => {
  const { code, out } = await sluice(["validate", join(dir, "none.yaml")])
  expect([code, out]).toEqual([1, `${join(dir, "none.yaml")}:1:1: there is no such file\n`])
})

test("variables come from the environment of the call", async () => {
  const path = file("store.yaml", `${good}store: \${REDIS}\n`)
  expect((await sluice(["validate", path])).out).toContain("the variable REDIS is not set")
  expect((await sluice(["validate", path], { env: { REDIS: "redis://localhost" } })).code).toBe(0)
})

test("colours appear on a terminal, and not with NO_COLOR", async () => {
  const path = file("colour.yaml", good)
  expect((await sluice(["validate", path], { isInteractive: true })).out).toContain("\u001b[32m")
  expect(
    (await sluice(["validate", path], { isInteractive: true, env: { NO_COLOR: "1" } })).out,
  ).not.toContain("\u001b")
})
