import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const readme = readFileSync(`${root}README.md`, "utf8")

/** Runs the first code block of the README on a free port, and returns its address. */
async function start(): Promise<string> {
  const [, code = ""] = /```ts\n(.*?)```/s.exec(readme) ?? []
  const listen = `const server = app.listen(0, "127.0.0.1", () => console.log(Object(server.address()).port))`
  expect(code).toContain("app.listen(3000)")
  const file = `${root}packages/sluice/test/middleware/.readme-${process.pid}.ts`
  writeFileSync(file, code.replace("app.listen(3000)", listen))
  const args = ["node_modules/tsx/dist/cli.mjs", "--tsconfig", "tsconfig.json", file]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
  onTestFinished(() => {
    child.kill()
    rmSync(file)
  })
  const [port] = await once(createInterface(child.stdout), "line")
  return `http://127.0.0.1:${port}`
}

test("the first screen of the README answers 429 with the headers that it shows", async () => {
  const url = await start()
  let passed = 0
  let denied: Response | undefined
  // On a slow machine more than 100 requests pass, because the bucket refills meanwhile.
  while (denied === undefined && passed < 1_000) {
    const responses = await Promise.all(Array.from({ length: 40 }, () => fetch(url)))
    denied = responses.find(({ status }) => status === 429)
    passed += responses.filter(({ status }) => status === 200).length
  }
  expect(passed).toBeGreaterThanOrEqual(100)
  const [, ...lines] = (/```http\n(.*?)\n```/s.exec(readme)?.[1] ?? "").split("\n")
  expect(lines).toHaveLength(4)
  for (const line of lines) {
    const [name = "", value] = line.split(": ")
    expect(denied?.headers.get(name), name).toBe(value)
  }
})
